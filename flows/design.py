"""What an audit is about: everything its card names, looked up, held against each other, its samples chosen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from flows.keys import as_json, content_id, sent_by
from flows.prompts import STRUCTURED, TRIED
from flows.templates import OWN, columns_of, weighs_options
from models_registry.cards import AuditCard, JudgeCard, ModelCard, TaskCard, TemplateCard
from models_registry.errors import CardError, nearest
from models_registry.placeholders import placeholders
from models_registry.registry import Entry, Registry
from models_registry.samples import ChosenSamples, Sample, choose_samples

# of a task card: these decide no request
NOT_SENT = {"data", "reader", "refusal_pattern", "level", "templates", "scoring", "token_f1_threshold", "sensitive"}


@dataclass(frozen=True, slots=True)
class Design:
    """An audit with everything it names looked up and its samples chosen."""

    audit_id: str
    audit: AuditCard
    registry: Registry
    tasks: Mapping[str, TaskCard]
    templates: Mapping[str, TemplateCard]  # by task
    models: Mapping[str, ModelCard]
    judges: Mapping[str, JudgeCard]  # the members of panels among them
    samples: Mapping[str, ChosenSamples]
    fingerprint: str
    plan_fingerprint: str
    origin: str = "run"  # or trial
    tried: Mapping[str, TaskCard] = field(default_factory=dict)  # by task: its card in the changed arm of a trial
    source: Mapping[str, object] | None = None  # a trial: its base run, samples and change

    def card_of(self, task_id: str, strategy: str) -> TaskCard:
        """The card a strategy asks by: a trial's changed arm may have one of its own."""
        return self.tried.get(task_id, self.tasks[task_id]) if strategy.endswith(TRIED) else self.tasks[task_id]

    def n_samples(self, task_id: str) -> int:
        """How many samples of a task are asked."""
        return len(self.samples[task_id].samples)


def design_checks(registry: Registry, audit_id: str) -> dict[str, dict[str, Entry]]:
    """Every card an audit uses, once what no single card can know is checked: that they fit each other."""
    used = registry.used_by(audit_id)
    audit = registry.audit(audit_id)
    models = registry.models_of(audit_id)
    for name in models:
        base = registry.model(name).of
        if base is not None and base not in models:
            msg = f"{used['models'][name].where(name, 'of')}: '{name}' perturbs '{base}', which audit '{audit_id}' does not ask"
            raise CardError(msg)
    perturbed_last({name: registry.model(name).of for name in models})
    if STRUCTURED in audit.strategies:
        for name in models:
            card = registry.model(name)
            if not card.takes_schemas and card.engine != "recorded":
                where = used["audits"][audit_id].where(audit_id, "strategies", audit.strategies.index(STRUCTURED))
                msg = f"{where}: strategy '{STRUCTURED}' sends a JSON schema, which {card.engine} model '{name}' cannot follow"
                raise CardError(msg)
    _check_judging(registry, audit_id, used)
    return used


def _check_judging(registry: Registry, audit_id: str, used: Mapping[str, Mapping[str, Entry]]) -> None:
    models = registry.models_of(audit_id)
    for name in models:
        _check_embedded(registry, used, name)
    for name, entry in used["judges"].items():
        _check_judge(registry, name, entry)
    for name, members in registry.audit(audit_id).model_sets.items():
        for index, member in enumerate(members):
            if member not in models:
                where = used["audits"][audit_id].where(audit_id, "model_sets", name, index)
                msg = f"{where}: model set '{name}' names '{member}', which the audit does not ask{nearest(member, models)}"
                raise CardError(msg)
    for name, entry in used["tasks"].items():
        task = registry.task(name)
        if task.templates is not None and registry.templates(task.templates).kind != task.kind:
            found = registry.templates(task.templates).kind
            msg = f"{entry.where(name, 'templates')}: '{task.templates}' are templates of kind {found}, the task is {task.kind}"
            raise CardError(msg)


def _check_judge(registry: Registry, name: str, entry: Entry) -> None:
    """A judge whose id is no other rater's, whose model gives verdicts, and whose instructions are for tasks there are."""
    if ":" in name or "|" in name:
        msg = f"{entry.where(name)}: judge '{name}': its id holds no ':' and no '|', which stand between raters"
        raise CardError(msg)
    card = registry.judge(name)
    rules = None if card.model is None else registry.model(card.model)
    if rules is not None and rules.engine == "embedded" and rules.model != "matcher":
        msg = f"{entry.where(name, 'model')}: '{card.model}' gives no verdicts; of the embedded models `matcher` does"
        raise CardError(msg)
    known = registry.entries.get("tasks", {})
    for task_id in card.instructions:
        if task_id not in known:
            msg = f"{entry.where(name, 'instructions', task_id)}: no task '{task_id}'{nearest(task_id, known)}"
            raise CardError(msg)
    for index, member in enumerate(card.panel):
        if registry.judge(member).panel:
            msg = (
                f"{entry.where(name, 'panel', index)}: '{member}' is a panel itself; a panel is of judges with a model"
            )
            raise CardError(msg)


def _check_embedded(registry: Registry, used: Mapping[str, Mapping[str, Entry]], name: str) -> None:
    """An embedded annotator that answers what the audit's tasks ask."""
    card = registry.model(name)
    if card.engine != "embedded" or card.model == "examinee":
        return
    where = used["models"][name].where(name, "model")
    if card.model == "matcher":
        msg = f"{where}: '{name}' is a judge: it answers no questions"
        raise CardError(msg)
    for task_id in used["tasks"]:
        if registry.task(task_id).kind == "open_ended":
            msg = (
                f"{where}: '{name}' answers with labels, which open task '{task_id}' has none of; `examinee` answers it"
            )
            raise CardError(msg)


def design_audit(registry: Registry, audit_id: str) -> Design:
    """Looks everything up that an audit names and chooses its samples; raises CardError or DataError."""
    used = design_checks(registry, audit_id)
    audit = registry.audit(audit_id)
    tasks = {name: registry.task(name) for name in audit.tasks}
    templates = {name: registry.templates(card.templates) for name, card in tasks.items() if card.templates is not None}
    models = {name: registry.model(name) for name in registry.models_of(audit_id)}
    samples = {
        name: choose_samples(
            name,
            card,
            registry.data_root(name),
            audit.samples,
            with_examples="one_shot" in audit.strategies and card.templates is None,
        )
        for name, card in tasks.items()
    }
    _check_templates(used, templates, samples)
    asked = audit.model_dump(mode="json", include={"strategies", "rephrasing", "repetitions", "samples"})
    decides = [
        as_json(asked),
        *(as_json([name, sent_by(card), _sent_by_base(registry, card)]) for name, card in models.items()),
        *(as_json([name, card.model_dump(mode="json", exclude=NOT_SENT)]) for name, card in tasks.items()),
        *(entry.card.canonical_json() for entry in used["rephrasers"].values()),
        *(as_json([name, card.canonical_json()]) for name, card in templates.items()),
        # a server that weighs options is asked for it beside each answer
        *(as_json(["weighs", name]) for name, card in tasks.items() if weighs_options(card) and _has_weigher(models)),
        *(as_json([name, dict(chosen.examples)]) for name, chosen in samples.items()),
        *(
            content_id(
                name, sample.sample_id, sample.text, sample.gold_label,
                as_json(_used_fields(tasks[name], templates.get(name), sample)), *_keyed(sample),
            )
            for name, chosen in samples.items()
            for sample in chosen.samples
        ),
        *(_sha256_of_recorded(used["models"][name]) for name in models),
    ]  # fmt: skip
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


def _has_weigher(models: Mapping[str, ModelCard]) -> bool:
    return any(card.engine == "vllm_server" for card in models.values())


def used_fields(design: Design, task_id: str, sample: Sample) -> dict[str, str]:
    """The other columns of the data that a prompt of the task uses."""
    return _used_fields(design.tasks[task_id], design.templates.get(task_id), sample)


def _used_fields(card: TaskCard, templates: TemplateCard | None, sample: Sample) -> dict[str, str]:
    if templates is not None:
        names = set[str]().union(*(columns_of(template) for template in templates.templates))
    else:
        texts = (card.instruction, card.output_format, *(message.content for message in card.messages))
        names = {name for text in texts for name in placeholders(text)}
        names -= {"instruction", "output_format", "labels", "input"}
    return {name: value for name, value in sample.fields.items() if name in names}


def _keyed(sample: Sample) -> tuple[str, ...]:
    """What is right and what is offered, of samples that have such; the others keep the hash they had without."""
    return (as_json([sample.options, sample.references]),) if sample.options or sample.references else ()


def _check_templates(
    used: Mapping[str, Mapping[str, Entry]],
    templates: Mapping[str, TemplateCard],
    samples: Mapping[str, ChosenSamples],
) -> None:
    """A template's placeholders are columns of the data, and it has a sign for every option."""
    for task_id, card in templates.items():
        name = used["tasks"][task_id].card.templates  # type: ignore[attr-defined]
        columns = {column for sample in samples[task_id].samples for column in sample.fields}
        most = max(len(sample.options) for sample in samples[task_id].samples)
        for index, each in enumerate(card.templates):
            where = used["templates"][name].where(name, "templates", index)
            for column in sorted(columns_of(each) - columns):
                msg = f"{where}: no column of task '{task_id}' is {{{column}}}{nearest(column, columns | OWN)}"
                raise CardError(msg)
            if len(each.signs) < most:
                msg = f"{where}: template {index + 1} has {len(each.signs)} enumerators, task '{task_id}' has {most} options"
                raise CardError(msg)


def _sha256_of_recorded(entry: Entry) -> str | None:
    path = entry.card.path if isinstance(entry.card, ModelCard) else None
    found = None if path is None else entry.root / path
    return None if found is None or not found.is_file() else hashlib.sha256(found.read_bytes()).hexdigest()


def _sent_by_base(registry: Registry, card: ModelCard) -> dict[str, object] | None:
    return None if card.of is None else sent_by(registry.model(card.of))


def model_order(design: Design) -> list[list[str]]:
    """The models in rounds: those that perturb another's answers come after it."""
    return perturbed_last({name: card.of for name, card in design.models.items()})


def perturbed_last(bases: Mapping[str, str | None]) -> list[list[str]]:
    """Names in rounds, each after its base; raises CardError where they go in a circle."""
    rounds: list[list[str]] = []
    done: set[str | None] = {None}
    while len(done) <= len(bases):
        ready = [name for name, base in bases.items() if name not in done and base in done]
        if not ready:
            circle = ", ".join(sorted(name for name in bases if name not in done))
            msg = f"models that perturb each other in a circle: {circle}"
            raise CardError(msg)
        rounds.append(ready)
        done.update(ready)
    return rounds
