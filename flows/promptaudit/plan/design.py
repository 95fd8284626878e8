"""Looks up everything that an audit's card names, checks it, and chooses the samples."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from promptaudit.cards.check_cards import CardCheck, check_audit
from promptaudit.cards.check_cards.cards import perturbed_last
from promptaudit.cards.check_cards.data import fetch_samples
from promptaudit.prompts.answer_schema import original_schema
from promptaudit.prompts.messages import STRUCTURED, TRIED
from promptaudit.prompts.shown_fields import answer_of, lines_of_fields
from promptaudit.prompts.templates import columns_of, weighs_options
from promptaudit.registry.cards import AuditCard, JudgeCard, ModelCard, TaskCard, TemplateCard
from promptaudit.registry.errors import raise_all
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.registry import Entry, Registry
from promptaudit.registry.rephraser_cards import OTHER_KINDS, SENT_TO_NO_MODEL
from promptaudit.registry.samples import ChosenSamples, Sample, panels
from promptaudit.system.keys import as_json, content_id, sent_by

# fields of a task card that decide no request
NOT_SENT = {
    "data",
    "reader",
    "refusal_pattern",
    "level",
    "templates",
    "scoring",
    "token_f1_threshold",
    "sensitive",
    "translations",
    "pair_classes",
    "fields",
}


@dataclass(frozen=True, slots=True)
class Design:
    """Holds an audit with everything it names looked up and its samples chosen."""

    audit_id: str
    audit: AuditCard
    registry: Registry
    tasks: Mapping[str, TaskCard]
    templates: Mapping[str, TemplateCard]  # by task
    models: Mapping[str, ModelCard]
    judges: Mapping[str, JudgeCard]  # with the members of panels, and the judge of rewordings
    samples: Mapping[str, ChosenSamples]
    fingerprint: str
    plan_fingerprint: str
    origin: str = "run"  # or trial
    tried: Mapping[str, TaskCard] = field(default_factory=dict)  # by task: its card in the changed arm of a trial
    source: Mapping[str, object] | None = None  # a trial: its base run, samples and change

    @property
    def meaning_judge(self) -> str | None:
        """Names the judge that rules on rewordings and on no answers, None without one."""
        return None if self.audit.rephrasing is None else self.audit.rephrasing.meaning

    def card_of(self, task_id: str, strategy: str) -> TaskCard:
        """Picks the card a strategy asks by: a trial's changed arm may have one of its own."""
        return self.tried.get(task_id, self.tasks[task_id]) if strategy.endswith(TRIED) else self.tasks[task_id]

    def n_samples(self, task_id: str) -> int:
        """Counts the samples of a task that are asked."""
        return len(self.samples[task_id].samples)

    def asking(self, sample_ids: Mapping[str, Collection[str]]) -> Design:
        """Narrows the design to these samples of each task; a run asks only them."""
        asked = {task_id: frozenset(own) for task_id, own in sample_ids.items()}
        samples = {
            task_id: replace(
                chosen, samples=tuple(each for each in chosen.samples if each.sample_id in asked.get(task_id, ()))
            )
            for task_id, chosen in self.samples.items()
        }
        return replace(self, samples=samples)

    def panel(self, number: int) -> dict[str, set[str]]:
        """Lists by task the ids of the samples that run `number` asks, counted from 0; panels take turns."""
        panels_of = {
            task_id: panels(chosen.samples, self.audit.samples.of(task_id)) for task_id, chosen in self.samples.items()
        }
        return {task_id: {each.sample_id for each in own[number % len(own)]} for task_id, own in panels_of.items()}


def design_audit(registry: Registry, audit_id: str, checked: CardCheck | None = None) -> Design:
    """Looks up everything that an audit names and chooses its samples.

    Raises every error of its cards and their data at once; `checked` is the result of the checks if they have been
    made.
    """
    checked = checked or check_audit(registry, audit_id)
    raise_all([*checked.errors, *checked.lacking_data])
    used = checked.cards.used
    audit = registry.audit(audit_id)
    tasks = {name: registry.task(name) for name in audit.tasks}
    templates = {name: registry.templates(card.templates) for name, card in tasks.items() if card.templates is not None}
    models = {name: registry.model(name) for name in registry.models_of(audit_id)}
    samples = fetch_samples(checked.cards)
    # a task's own limit shows in its rows, which are hashed
    grid = audit.model_dump(
        mode="json",
        include={"strategies", "rephrasing", "repetitions", "samples"},
        exclude={
            "samples": {"by_task", "each_night"},
            "rephrasing": {"templates", *OTHER_KINDS, *SENT_TO_NO_MODEL},
            "repetitions": {"twice"},
        },
    )
    varied = {} if audit.rephrasing is None else audit.rephrasing.of_other_kinds
    has_weigher = any(card.engine in ("vllm_server", "llama_cpp") for card in models.values())
    decides = [
        as_json(grid),
        *(as_json([name, sent_by(card), _sent_by_base(registry, card)]) for name, card in models.items()),
        *(as_json([name, card.model_dump(mode="json", exclude=NOT_SENT)]) for name, card in tasks.items()),
        *(entry.card.canonical_json() for entry in used["rephrasers"].values()),
        *(as_json([name, card.canonical_json()]) for name, card in templates.items()),
        *([as_json(["twice", audit.repetitions.twice])] if audit.repetitions.twice is not None else ()),
        *([as_json(["each night", audit.samples.each_night])] if audit.samples.each_night else ()),
        *([as_json(["varies", varied])] if varied else ()),
        *(
            as_json([name, card.model_dump(mode="json", include={"translations"})])
            for name, card in tasks.items()
            if audit.rephrasing is not None and "language" in audit.rephrasing.kinds
        ),
        *(
            as_json([name, "spare", *([row.sample_id, row.text, row.gold_label] for row in chosen.spare)])
            for name, chosen in samples.items()
            if chosen.spare
        ),
        *(
            as_json([name, "schema", original_schema(card)])
            for name, card in tasks.items()
            if card.fields and STRUCTURED in audit.strategies
        ),
        *(
            as_json([name, "detail", list(lines_of_fields(card, "", ""))])
            for name, card in tasks.items()
            if card.fields and "detail" in audit.strategies
        ),
        *(["rewords templates"] if audit.rephrasing is not None and audit.rephrasing.templates else ()),
        # a server that weighs options is asked for it beside each answer
        *(as_json(["weighs", name]) for name, card in tasks.items() if weighs_options(card) and has_weigher),
        *(as_json([name, dict(chosen.examples)]) for name, chosen in samples.items()),
        *(
            as_json([name, "answers", [answer_of(tasks[name], gold) for gold in chosen.examples]])
            for name, chosen in samples.items()
            if tasks[name].fields and chosen.examples
        ),
        *(
            content_id(
                name,
                sample.sample_id,
                sample.text,
                sample.gold_label,
                as_json(used_fields(tasks[name], templates.get(name), sample)),
                *_keyed(sample),
            )
            for name, chosen in samples.items()
            for sample in chosen.samples
        ),
        *(_sha256_of_recorded(used["models"][name]) for name in models),
    ]
    return Design(
        audit_id=audit_id,
        audit=audit,
        registry=registry,
        tasks=tasks,
        templates=templates,
        models=models,
        judges={name: registry.judge(name) for name in used["judges"]},
        samples=samples,
        fingerprint=registry.fingerprint(audit_id),
        plan_fingerprint=content_id(*decides),
    )


def used_fields(card: TaskCard, templates: TemplateCard | None, sample: Sample) -> dict[str, str]:
    """Picks the other columns of a sample's data that a prompt of the task uses."""
    if templates is not None:
        names = set[str]().union(*(columns_of(template) for template in templates.templates))
    else:
        texts = (card.instruction, card.output_format, *(message.content for message in card.messages))
        names = {name for text in texts for name in placeholders(text)}
        names -= {"instruction", "output_format", "labels", "input"}
    return {name: value for name, value in sample.fields.items() if name in names}


def _keyed(sample: Sample) -> tuple[str, ...]:
    # samples without options and references keep the hash they had before these were hashed
    return (as_json([sample.options, sample.references]),) if sample.options or sample.references else ()


def _sha256_of_recorded(entry: Entry) -> str | None:
    path = entry.card.path if isinstance(entry.card, ModelCard) else None
    file = None if path is None else entry.root / path
    return None if file is None or not file.is_file() else hashlib.sha256(file.read_bytes()).hexdigest()


def _sent_by_base(registry: Registry, card: ModelCard) -> dict[str, object] | None:
    return None if card.of is None else sent_by(registry.model(card.of))


def model_order(design: Design) -> list[list[str]]:
    """Sorts the models into rounds: a model that perturbs another's answers comes after it."""
    return perturbed_last({name: card.of for name, card in design.models.items()})
