"""Makes the prompt variants of a run, or finds the variants that an earlier run made, and lands them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptaudit.ask.wordings.answer_schemas import reworded_schemas
from promptaudit.ask.wordings.edit_prompts import read_prompts
from promptaudit.ask.wordings.kind_variants import kind_variants, option_order_rows
from promptaudit.ask.wordings.paid_rephraser import KeptEngine
from promptaudit.ask.wordings.template_variants import (
    is_of_card,
    template_for,
    template_wording,
    templates_of_card,
    variants_key,
)
from promptaudit.ask.wordings.variants import (
    Cell,
    Proposal,
    earlier_proposals,
    earlier_schemas,
    landed_variants,
    rephrasing_key,
    rewordings,
)
from promptaudit.cards.rewording import Rewording
from promptaudit.engines import Engine, always, open_engine, silent
from promptaudit.plan.budget import Purse
from promptaudit.plan.cells import Variant, prompter_of, template_of
from promptaudit.plan.design import Design
from promptaudit.prompts.answer_schema import field_of, original_schema
from promptaudit.prompts.messages import STRUCTURED
from promptaudit.prompts.rephrasers import Rephraser, Wording
from promptaudit.prompts.rephrasers.protected_spans import protected_words
from promptaudit.prompts.rephrasers.refusals import shortfall, why_wording_refused
from promptaudit.prompts.rephrasers.select import open_rephraser
from promptaudit.prompts.rephrasers.templates import ByStretch
from promptaudit.prompts.templates import left_open, reader_of
from promptaudit.registry.cards import RephraserCard, Rephrasing, Template
from promptaudit.registry.tables import escape
from promptaudit.system.keys import as_json, prompt_variant_id
from promptaudit.warehouse.rows import frame_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ParaphraseResult:
    """Holds the variants of a run, and notes on how they were made."""

    variants: tuple[Variant, ...]
    notes: tuple[str, ...]


def paraphrase(purse: Purse, design: Design, *, anew: bool = False, prompts: Path | None = None) -> ParaphraseResult:
    """Collects the run's variants: landed by this run, from a person's file, made by an earlier run, or made now.

    Raises BudgetReached before a rephraser's request that may cross the budget; its answers up to then are landed.
    """
    warehouse, audit_run_id = purse.warehouse, purse.audit_run_id
    landed = landed_variants(warehouse, audit_run_id)
    edited = None if prompts is None else read_prompts(prompts, design)
    variants: list[Variant] = []
    notes: list[str] = []
    for task_id in design.tasks:
        for rewording in rewordings(design, task_id):
            mine = [v for v in landed if v.task_id == task_id and v.model_ids == rewording.model_ids]
            if not mine:
                proposals = None
                if edited is not None and task_id in edited:
                    proposals = [p for p in edited[task_id] if p.own_of == rewording.own_of]
                elif not anew:
                    proposals = earlier_proposals(warehouse, variants_key(design, task_id, rewording))
                if proposals is None:
                    proposals = _made(purse, design, task_id, rewording)
                made = [p for p in proposals if task_id not in design.templates or not is_of_card(design, task_id, p)]
                notes += _shortfalls(design, task_id, rewording, made)
                # one rewording of a task at a time: it may have been paid for
                land = _landed_templates if task_id in design.templates else _landed_now
                mine = land(purse, design, task_id, rewording, proposals)
            variants += mine
    return ParaphraseResult(variants=tuple(variants), notes=tuple(notes))


def _landed_now(
    purse: Purse, design: Design, task_id: str, rewording: Rewording, proposals: Sequence[Proposal]
) -> list[Variant]:
    rows, variants = [], []
    key = rephrasing_key(design, task_id, rewording)
    for strategy in design.audit.strategies:
        schemas = _schemas(purse, design, task_id, rewording, proposals) if strategy == STRUCTURED else {}
        for proposal in proposals:
            schema = schemas.get((proposal.paraphrase_temperature, proposal.variant_index))
            variant = _as_variant(design, task_id, strategy, proposal, schema, rewording.model_ids)
            rows.append(_row_of_wording(purse.audit_run_id, design, variant, proposal, key))
            if proposal.refused_because is None:
                variants.append(variant)
    return _land(purse, design, task_id, rows, variants)


def _land(
    purse: Purse, design: Design, task_id: str, rows: list[dict[str, object]], worded: Sequence[Variant]
) -> list[Variant]:
    # with the wordings the variants of other kinds that are made of them
    others = kind_variants(design, task_id, worded)
    rows = [*rows, *(_row_of_kind(purse.audit_run_id, design, variant) for variant in others)]
    purse.warehouse.land(
        [
            ("prompt_variants", frame_of("prompt_variants", rows)),
            ("option_orders", frame_of("option_orders", option_order_rows(purse.audit_run_id, design, others))),
        ]
    )
    return [*worded, *others]


def _made(purse: Purse, design: Design, task_id: str, rewording: Rewording) -> list[Proposal]:
    if task_id not in design.templates:
        return make_proposals(design, task_id, rewording, purse)
    reworded = _reworded_template(design, task_id, rewording, purse)
    return templates_of_card(design, task_id, reworded, with_card=rewording.has_original)


def _reworded_template(design: Design, task_id: str, rewording: Rewording, purse: Purse) -> list[Proposal]:
    # the task's first template; a rewording that the card has already is none
    rephrasing, card = design.audit.rephrasing, rewording.card
    if rephrasing is None or card is None:
        return []
    wording = template_wording(design, task_id, is_given=card.is_given)
    known = {_folded(template.text) for template in design.templates[task_id].templates}
    proposals = _reworded(design, rephrasing, card, wording, purse, known)
    return [replace(proposal, own_of=rewording.own_of) for proposal in proposals]


def _landed_templates(
    purse: Purse, design: Design, task_id: str, rewording: Rewording, proposals: Sequence[Proposal]
) -> list[Variant]:
    key, rows, variants = variants_key(design, task_id, rewording), [], []
    for proposal in proposals:
        template = template_for(design, task_id, proposal)
        variant = _as_template_variant(design, task_id, proposal, template, rewording.model_ids)
        is_own, rephrasing = is_of_card(design, task_id, proposal), design.audit.rephrasing
        rows.append(
            _row(
                purse.audit_run_id,
                variant,
                is_edited=False,
                prompt=_template_as_sent(template),
                rephraser_id=None if is_own or rephrasing is None else rephrasing.rephraser,
                rephrasing_key=key,
                refused_because=proposal.refused_because,
            )
        )
        if proposal.refused_because is None:
            variants.append(variant)
    return _land(purse, design, task_id, rows, variants)


def _as_template_variant(
    design: Design, task_id: str, proposal: Proposal, template: Template, model_ids: tuple[str, ...] | None
) -> Variant:
    index, temperature, text = proposal.variant_index, proposal.paraphrase_temperature, template.canonical_json()
    n_repetitions = design.audit.repetitions.at_most(is_original=index == 0)
    kind = "template" if is_of_card(design, task_id, proposal) else "wording"
    return Variant(
        prompt_variant_id=prompt_variant_id(task_id, "simple", temperature, index, text, own_of=proposal.own_of),
        task_id=task_id,
        strategy="simple",
        paraphrase_temperature=temperature,
        variant_index=index,
        is_original=index == 0,
        instruction=template.text,
        repetitions=() if proposal.refused_because else tuple(range(1, n_repetitions + 1)),
        template=text,
        reader=reader_of(template, design.tasks[task_id]),
        model_ids=model_ids,
        variation=_variation(proposal, kind),
        setting=_setting(proposal, kind),
    )


def make_proposals(design: Design, task_id: str, rewording: Rewording, purse: Purse | None = None) -> list[Proposal]:
    """Asks a rephraser for a task's wordings, within a run's purse if there is a run; the original comes first."""
    instruction = design.tasks[task_id].instruction
    original = Proposal(paraphrase_temperature=None, variant_index=0, instruction=instruction)
    rephrasing, card = design.audit.rephrasing, rewording.card
    if rephrasing is None or card is None:
        return [original]
    protected = protected_words(design.tasks[task_id], card, is_given=card.is_given)
    wording = Wording(task_id, instruction, protected, is_given=card.is_given)
    proposals = _numbered(_reworded(design, rephrasing, card, wording, purse))
    own = [replace(proposal, own_of=rewording.own_of) for proposal in proposals]
    return [original, *own] if rewording.has_original else own


def _reworded(
    design: Design,
    rephrasing: Rephrasing,
    card: RephraserCard,
    wording: Wording,
    purse: Purse | None,
    known: Iterable[str] = (),
) -> list[Proposal]:
    # at each paraphrase temperature, refused ones last, none numbered; rules get a text with lines of layout by
    # stretches

    async def propose() -> list[Proposal]:
        opened = _opened(design, card, purse)
        rephraser = ByStretch(opened) if wording.lines is not None and card.kind == "rules" else opened
        try:
            groups = rephrasing.temperatures or (None,)
            return [p for each in groups for p in await _proposed(rephraser, wording, each, rephrasing.wanted, known)]
        finally:
            await rephraser.close()

    return asyncio.run(propose())


def _opened(design: Design, card: RephraserCard, purse: Purse | None) -> Rephraser:
    # the rephraser's model is opened within the run's purse if there is one
    rephrasing = design.audit.rephrasing
    code = design.registry.entry("rephrasers", (rephrasing.rephraser if rephrasing is not None else None) or "").code
    return open_rephraser(card, code, _engine_at(design, card.model, purse))


def _engine_at(design: Design, model: str | None, purse: Purse | None) -> Callable[[float | None], Engine]:
    def open_at(temperature: float | None) -> Engine:
        entry = design.registry.entry("models", model or "")
        card = design.registry.model(model or "")
        # the card's cap fits a label, not a list of rewordings
        warmth = card.sampling.temperature if temperature is None else temperature
        sampling = card.sampling.model_copy(
            update={"temperature": warmth, "max_tokens": None, "max_completion_tokens": None}
        )
        card = card.model_copy(update={"sampling": sampling})
        may_try, say = (always, silent) if purse is None else (purse.budget.may_try, purse.say)
        engine = open_engine(replace(entry, card=card), may_try=may_try, say=say)
        return engine if purse is None else KeptEngine(engine, card, purse)

    return open_at


async def _proposed(
    rephraser: Rephraser, wording: Wording, temperature: float | None, wanted: int, known: Iterable[str] = ()
) -> list[Proposal]:
    # distinct rewordings at one temperature; missing ones are asked for again in at most `max_rounds` rounds
    seen = {_folded(wording.instruction), *known}
    kept: list[Proposal] = []
    refused: list[Proposal] = []
    for round_ in range(rephraser.max_rounds):
        if len(kept) >= wanted:
            break
        for text in await rephraser.rephrase(wording, wanted - len(kept), temperature, round_):
            instruction = escape(text if wording.is_given else text.strip())[0]
            if _folded(instruction) in seen or len(kept) >= wanted:
                continue
            seen.add(_folded(instruction))
            reason = why_wording_refused(wording, instruction)
            (refused if reason else kept).append(
                Proposal(
                    paraphrase_temperature=temperature, variant_index=0, instruction=instruction, refused_because=reason
                )
            )
    return kept + refused


def _folded(text: str) -> str:
    return " ".join(text.split())


def _numbered(proposals: Sequence[Proposal]) -> list[Proposal]:
    # kept ones from 1 up, refused ones from -1 down
    found, n_kept, n_refused = [], 0, 0
    for proposal in proposals:
        if proposal.refused_because is None:
            n_kept += 1
            found.append(replace(proposal, variant_index=n_kept))
        else:
            n_refused += 1
            found.append(replace(proposal, variant_index=-n_refused))
    return found


def _shortfalls(design: Design, task_id: str, rewording: Rewording, proposals: Sequence[Proposal]) -> list[str]:
    rephrasing = design.audit.rephrasing
    if rephrasing is None or rewording.card is None:
        return []
    notes = []
    for temperature in rephrasing.temperatures or (None,):
        mine = [p for p in proposals if p.variant_index != 0 and p.paraphrase_temperature == temperature]
        n_kept = sum(p.refused_because is None for p in mine)
        if n_kept < rephrasing.wanted:
            n_refused = len(mine) - n_kept
            notes.append(shortfall(task_id, n_kept, rephrasing.wanted, n_refused, temperature, rewording.own_of))
    return notes


def _schemas(
    purse: Purse, design: Design, task_id: str, rewording: Rewording, proposals: Sequence[Proposal]
) -> dict[Cell, str]:
    # an earlier run's if they fit, else made now
    card, chosen = design.tasks[task_id], rewording.card
    schemas = earlier_schemas(purse.warehouse, rephrasing_key(design, task_id, rewording))
    wanted = {(p.paraphrase_temperature, p.variant_index) for p in proposals if p.refused_because is None}
    fits = not rewording.has_original or original_schema(card) in schemas.values()
    if wanted <= schemas.keys() and fits:
        return schemas

    async def reword() -> dict[Cell, str]:
        if chosen is None or chosen.kind == "fixed":
            return await reworded_schemas(card, task_id, proposals, None, is_by_rules=False)
        rephraser = _opened(design, chosen, purse)
        try:
            return await reworded_schemas(card, task_id, proposals, rephraser, is_by_rules=chosen.kind == "rules")
        finally:
            await rephraser.close()

    return asyncio.run(reword())


def _as_variant(
    design: Design,
    task_id: str,
    strategy: str,
    proposal: Proposal,
    answer_schema: str | None,
    model_ids: tuple[str, ...] | None,
) -> Variant:
    is_original = proposal.variant_index == 0
    n_repetitions = design.audit.repetitions.at_most(is_original=is_original)
    return Variant(
        prompt_variant_id=prompt_variant_id(
            task_id,
            strategy,
            proposal.paraphrase_temperature,
            proposal.variant_index,
            proposal.instruction,
            answer_schema,
            proposal.own_of,
        ),
        task_id=task_id,
        strategy=strategy,
        paraphrase_temperature=proposal.paraphrase_temperature,
        variant_index=proposal.variant_index,
        is_original=is_original,
        instruction=proposal.instruction,
        repetitions=() if proposal.refused_because else tuple(range(1, n_repetitions + 1)),
        answer_schema=answer_schema,
        reader=None
        if answer_schema is None or design.tasks[task_id].fields
        else as_json({"json_field": field_of(answer_schema)}),
        model_ids=model_ids,
        variation=_variation(proposal, "wording"),
        setting=_setting(proposal, "wording"),
    )


def _variation(proposal: Proposal, kind: str) -> str:
    return "original" if proposal.variant_index == 0 else kind


def _setting(proposal: Proposal, kind: str) -> str | None:
    # a refused proposal is never asked, and has no setting
    index = proposal.variant_index
    return None if index < 0 else as_json({kind: index} if index else {})


def _row_of_wording(
    audit_run_id: str, design: Design, variant: Variant, proposal: Proposal, key: str
) -> dict[str, object]:
    rephrasing = design.audit.rephrasing
    return _row(
        audit_run_id,
        variant,
        is_edited=proposal.is_edited,
        output_format=prompter_of(design, variant).output_format,
        prompt=prompter_of(design, variant).left_open,
        rephraser_id=None if rephrasing is None or variant.is_original else rephrasing.rephraser,
        rephrasing_key=key,
        refused_because=proposal.refused_because,
    )


def _row_of_kind(audit_run_id: str, design: Design, variant: Variant) -> dict[str, object]:
    # without a rephrasing_key no later run takes it for a wording
    rephrasing, template = design.audit.rephrasing, template_of(variant)
    is_worded = "wording" in json.loads(variant.setting or "{}")
    if template is None:
        prompter = prompter_of(design, variant)
        shown = {"output_format": prompter.output_format, "prompt": prompter.left_open}
    else:
        shown = {"prompt": _template_as_sent(template)}
    return _row(
        audit_run_id,
        variant,
        is_edited=False,
        rephraser_id=rephrasing.rephraser if rephrasing is not None and is_worded else None,
        **shown,
    )


def _template_as_sent(template: Template) -> str:
    return as_json([{"role": role, "content": content} for role, content in left_open(template)])


def _row(audit_run_id: str, variant: Variant, **more: object) -> dict[str, object]:
    # of raw.prompt_variants
    row = {name: getattr(variant, name) for name in Variant.__dataclass_fields__ if name != "dealt"}
    return {**row, "repetitions": list(variant.repetitions), "audit_run_id": audit_run_id, **more}
