"""Makes the prompt variants of a trial: the base run's as they were, with a filler, and changed.

Samples that were chosen because they were worst get better when anything about them is drawn anew. A model that always
says the same to the same prompt draws nothing anew when the unchanged prompt is asked again, yet does so with any other
wording, a better one or not. So a filler, a text that says nothing, stands beside the change, and the change is
compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptaudit.ask.wordings.variants import Proposal
from promptaudit.plan.design import Design
from promptaudit.prompts.answer_schema import original_schema
from promptaudit.prompts.messages import FILLED, STRUCTURED, TRIED, dressed
from promptaudit.prompts.put_samples import Prompter
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.system.keys import as_json, prompt_variant_id
from promptaudit.trial.base_run import Base, Place, PromptVariant
from promptaudit.warehouse.rows import reader_json

NOT_ASKED = {
    "data",
    "scoring",
    "token_f1_threshold",
    "refusal_pattern",
    "examples",
    "protected",
    "sensitive",
    "translations",
}
"""Fields of a task card in which an edit makes no other prompt and no other reading."""
KEPT = ("kind", "level", "examples", "refusal_pattern")

FILLER = "Read the text below before you answer."

Reworded = Callable[[], Sequence[Proposal]]
"""Makes the wordings of an edited instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change that is tried: a text added to every instruction, a new instruction, or the task's card as edited."""

    added: str | None = None
    instruction: str | None = None
    edited: TaskCard | None = None

    @property
    def edited_fields(self) -> dict[str, object] | None:
        """Lists the edited card's fields that are not at their defaults, as in JSON. None without an edited card."""
        return None if self.edited is None else self.edited.model_dump(mode="json", exclude_defaults=True)


def change_of(base: Base, now: TaskCard, added: str | None) -> Change:
    """Makes the change. Raises UsageError if the edited card asks as before, or no longer asks the same question."""
    if added is not None:
        text = added.strip()
        if not text:
            msg = "--add: a text is wanted"
            raise UsageError(msg)
        return Change(added=text)
    card = base.card
    for field in KEPT:
        if getattr(card, field) != getattr(now, field):
            msg = f"task '{base.task_id}': {field} is not as in run {base.audit_run_id}; run the audit instead of trying it"
            raise UsageError(msg)
    if card.label_names != now.label_names or _rules(card) != _rules(now):
        what = "fields" if card.fields else "labels"
        msg = f"task '{base.task_id}': its {what} are not those of run {base.audit_run_id}; run the audit instead of trying it"
        raise UsageError(msg)
    if not asks_otherwise(card, now):
        msg = f"task '{base.task_id}' asks as it did in run {base.audit_run_id}: edit its card first, or give --add"
        raise UsageError(msg)
    if STRUCTURED in base.strategies and original_schema(card) != original_schema(now):
        msg = f"strategy '{STRUCTURED}' sends descriptions in a schema: run the audit, or name another --strategy"
        raise UsageError(msg)
    return Change(edited=now)


def arms(
    design: Design, base: Base, change: Change, reworded: Reworded, filler: str | None, *, unchanged: bool
) -> list[PromptVariant]:
    """Changes each variant of the base run, under `<strategy>+tried`.

    With `unchanged` each variant is asked as it was too, and with a filler it is also asked with that, under
    `<strategy>+filler`. All arms have equal variants, paired by paraphrase temperature and index: one without a
    counterpart is in none. Raises DataError where the base run's prompts cannot be asked again as they were.
    """
    wordings = _wordings(base, change, reworded)
    variants = []
    for variant in base.variants:
        instruction = wordings.get(variant.place)
        if instruction is None:
            continue
        if variant.prompt != _prompt(design, base.task_id, variant.strategy, variant.instruction):
            msg = (
                f"task '{base.task_id}', strategy '{variant.strategy}': its examples are not those of run "
                f"{base.audit_run_id}, so its prompts cannot be asked again; run the audit first"
            )
            raise DataError(msg)
        if unchanged:
            variants.append(variant._replace(rephrasing_key=None))
        if filler is not None:
            variants.append(_arm(design, base, variant, FILLED, _joined(variant.instruction, filler)))
        variants.append(_arm(design, base, variant, TRIED, instruction))
    return variants


def _wordings(base: Base, change: Change, reworded: Reworded) -> dict[Place, str]:
    if change.instruction is not None:
        return {variant.place: change.instruction for variant in base.variants}
    if change.edited is None or change.edited.instruction == base.card.instruction:
        return {variant.place: _joined(variant.instruction, change.added) for variant in base.variants}
    return {
        (each.own_of, each.paraphrase_temperature, each.variant_index): each.instruction
        for each in reworded()
        if each.refused_because is None
    }


def _joined(instruction: str, added: str | None) -> str:
    return instruction if added is None else f"{instruction.rstrip()} {added}"


def _arm(design: Design, base: Base, variant: PromptVariant, ending: str, instruction: str) -> PromptVariant:
    strategy = variant.strategy + ending
    card = design.card_of(base.task_id, strategy)
    reader = reader_json(card)
    own_of, temperature, index = variant.place
    return variant._replace(
        strategy=strategy,
        prompt_variant_id=prompt_variant_id(
            base.task_id, strategy, temperature, index, instruction, variant.answer_schema, own_of
        ),
        is_edited=True,
        instruction=instruction,
        output_format=dressed(card, strategy).output_format,
        prompt=_prompt(design, base.task_id, strategy, instruction),
        # a variant keeps a reader of its own, else gets the edited card's where this differs from the task's
        reader=variant.reader or (None if reader == reader_json(base.card) else reader),
        rephrasing_key=None,
    )


def _prompt(design: Design, task_id: str, strategy: str, instruction: str) -> str:
    card, chosen = design.card_of(task_id, strategy), design.samples[task_id]
    prompter = Prompter(card, chosen, strategy=strategy, instruction=instruction, template=None, setting=None)
    return prompter.left_open


def _rules(card: TaskCard) -> dict[str, dict[str, object]]:
    return {name: field.reader() for name, field in card.fields.items()}


def asks_otherwise(card: TaskCard, now: TaskCard) -> bool:
    """Checks whether a card as it is now makes other prompts, or reads answers otherwise, than as it was."""
    return _prompt_fields(card) != _prompt_fields(now)


def _prompt_fields(card: TaskCard) -> str:
    gold = {"fields": {"__all__": {"gold"}}}
    return as_json(card.model_dump(mode="json", exclude={**dict.fromkeys(NOT_ASKED, True), **gold}))
