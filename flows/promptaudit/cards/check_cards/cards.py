"""Gathers the cards of an audit and checks whether they fit each other: what no single card can know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from promptaudit.cards.rewording import owners_of
from promptaudit.prompts.messages import STRUCTURED
from promptaudit.registry.cards import (
    ALL_FIELDS,
    WITHOUT_LABELS,
    AuditCard,
    JudgeCard,
    ModelCard,
    RephraserCard,
    TaskCard,
    TemplateCard,
)
from promptaudit.registry.errors import CardError, PromptauditError, nearest
from promptaudit.registry.gate_rules import INSIDE, Condition, DriftRule, Rule, SameRule, VerdictRule, part_of
from promptaudit.registry.gates import parse_rule
from promptaudit.registry.registry import Entry, Registry
from promptaudit.registry.samples import ChosenSamples
from promptaudit.udfs.spelling import folded

Errors = Iterator[PromptauditError]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCards:
    """An audit and every card it reaches. Names that no card has are only in `unreached`."""

    registry: Registry
    audit_id: str
    used: Mapping[str, Mapping[str, Entry]]
    unreached: tuple[PromptauditError, ...]
    max_usd: float | None  # the command's limit, else the audit's
    samples: dict[str, ChosenSamples] = field(default_factory=dict)  # by task, once they are read

    @property
    def audit(self) -> AuditCard:
        """Finds the audit's own card."""
        return self.registry.audit(self.audit_id)

    @property
    def models(self) -> dict[str, ModelCard]:
        """Collects the models that are asked the audit's questions."""
        model_ids = self.registry.models_of(self.audit_id)
        return {name: self.registry.model(name) for name in model_ids if name in self.used["models"]}

    @property
    def tasks(self) -> dict[str, TaskCard]:
        """Collects the audit's tasks."""
        return {name: self.registry.task(name) for name in self.used["tasks"]}

    @property
    def meaning_judge(self) -> str | None:
        """Names the judge that rules on rewordings. None without one."""
        return None if self.audit.rephrasing is None else self.audit.rephrasing.meaning

    @property
    def judges(self) -> dict[str, JudgeCard]:
        """Collects the audit's judges, with the members of panels."""
        return {name: self.registry.judge(name) for name in self.used["judges"]}

    @property
    def rephraser(self) -> RephraserCard | None:
        """Finds the rephraser of the audit's instructions. None without one."""
        return next((self.registry.rephraser(name) for name in self.used["rephrasers"]), None)

    def templates_of(self, task: TaskCard) -> TemplateCard | None:
        """Finds the templates of a task."""
        entry = self.used["templates"].get(task.templates or "")
        return entry.card if entry is not None and isinstance(entry.card, TemplateCard) else None

    def where(self, kind: str, name: str, *path: str | int) -> str:
        """Locates a field of a card by file and line."""
        return self.used[kind][name].where(name, *path)


def check_reached(cards: AuditCards) -> Errors:
    """Checks that every card that is named exists and can serve the card that names it."""
    yield from cards.unreached


def check_perturbed(cards: AuditCards) -> Errors:
    """Checks that a model that perturbs another's answers perturbs one that is asked too, and in no circle."""
    models = cards.models
    for name, card in models.items():
        if card.of in cards.used["models"] and card.of not in models:
            where = cards.where("models", name, "of")
            yield CardError(f"{where}: '{name}' perturbs '{card.of}', which audit '{cards.audit_id}' does not ask")
    try:
        perturbed_last({name: card.of if card.of in models else None for name, card in models.items()})
    except CardError as error:
        yield error


def perturbed_last(bases: Mapping[str, str | None]) -> list[list[str]]:
    """Sorts names into rounds, each after its base. Raises CardError where they go in a circle."""
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


def check_schemas(cards: AuditCards) -> Errors:
    """Checks that strategy `structured` asks only models that can follow a JSON schema."""
    strategies = cards.audit.strategies
    if STRUCTURED not in strategies:
        return
    where = cards.where("audits", cards.audit_id, "strategies", strategies.index(STRUCTURED))
    for name, card in cards.models.items():
        if not card.takes_schemas and card.engine != "recorded":
            yield CardError(
                f"{where}: strategy '{STRUCTURED}' sends a JSON schema, which {card.engine} model '{name}' cannot follow"
            )


def check_choices(cards: AuditCards) -> Errors:
    """Yields an error for each value of a field that is read like an earlier one."""
    for name, task in cards.tasks.items():
        for field_name, card in task.fields.items():
            known: set[str] = set()
            for value in card.values:
                if folded(value) in known:
                    where = cards.where("tasks", name, "fields", field_name)
                    yield CardError(f"{where}: fields.{field_name}: value {value!r} is read as another of its values")
                known.add(folded(value))


def check_annotators(cards: AuditCards) -> Errors:
    """Checks that an embedded annotator can answer what the audit's tasks ask."""
    for name, card in cards.models.items():
        if card.engine != "embedded" or card.model == "examinee":
            continue
        where = cards.where("models", name, "model")
        if card.model == "matcher":
            yield CardError(f"{where}: '{name}' is a judge: it answers no questions")
            continue
        for task_id, task in cards.tasks.items():
            if task.kind in WITHOUT_LABELS:
                yield CardError(
                    f"{where}: '{name}' answers with labels, which task '{task_id}' of kind {task.kind} has none of; "
                    "`examinee` answers it"
                )


def check_rephraser(cards: AuditCards) -> Errors:
    """Checks that the model that rewords instructions can be asked for anything, and answers at once."""
    for name, entry in cards.used["rephrasers"].items():
        rephraser = cards.registry.rephraser(name)
        if rephraser.is_self:
            yield from _check_self(cards, entry.where(name, "model"))
        elif rephraser.model is not None and rephraser.model in cards.used["models"]:
            model = cards.registry.model(rephraser.model)
            if model.is_in_process:
                yield CardError(
                    f"{entry.where(name, 'model')}: {model.engine} model '{rephraser.model}' rewords nothing; "
                    "`kind: rules` asks none, `kind: python` a function"
                )


def _check_self(cards: AuditCards, where: str) -> Errors:
    # one of the audited models must be able to reword its own prompts, and none of them may answer in batches
    if not owners_of(cards.models):
        yield CardError(
            f"{where}: no model of audit '{cards.audit_id}' can reword its own prompts; `kind: rules` asks none"
        )
    for model_id, card in cards.models.items():
        if card.engine == "batch":
            yield CardError(f"{where}: '{model_id}' answers in batches; who rewords its own prompts answers at once")


def check_model_sets(cards: AuditCards) -> Errors:
    """Checks that the audit asks the members of named sets of models."""
    models = cards.registry.models_of(cards.audit_id)
    for name, members in cards.audit.model_sets.items():
        for index, member in enumerate(members):
            if member not in models:
                where = cards.where("audits", cards.audit_id, "model_sets", name, index)
                yield CardError(
                    f"{where}: model set '{name}' names '{member}', which the audit does not ask{nearest(member, models)}"
                )


def check_template_kinds(cards: AuditCards) -> Errors:
    """Checks that the templates of a task are of the task's kind."""
    for name, task in cards.tasks.items():
        templates = cards.templates_of(task)
        if templates is not None and templates.kind != task.kind:
            where = cards.where("tasks", name, "templates")
            yield CardError(
                f"{where}: '{task.templates}' are templates of kind {templates.kind}, the task is {task.kind}"
            )


def check_gate(cards: AuditCards) -> Errors:
    """Checks that the audit asks every name by which a rule of the gate selects rows."""
    audit, audit_id = cards.audit, cards.audit_id
    tasks = cards.tasks.values()
    methods = {method for task in tasks for method in task.scoring_methods}
    known: dict[str, set[str]] = {
        "model_id": set(cards.registry.models_of(audit_id)),
        "task_id": set(audit.tasks),
        # templates have no other strategy
        "strategy": {*audit.strategies, *("simple" for task in tasks if task.templates is not None)},
        "scoring_method": methods | {f"judge:{name}" for name in cards.judges} | {"people"},
        "judge": {f"judge:{name}" for name in cards.judges},
        "model_set": {"all", *audit.model_sets},
        "field": {ALL_FIELDS, *(field for task in tasks for field in task.fields)},
    }
    for index, text in enumerate(audit.gate):
        rule = parse_rule(text)
        for condition in (*_named(rule, known["model_id"]), *rule.conditions):
            names = known.get(condition.column)
            if names is not None and condition.value not in names:
                where = cards.where("audits", audit_id, "gate", index)
                yield CardError(
                    f"{where}: gate.{index}: audit '{audit_id}' has no {condition.column} '{condition.value}'"
                    f"{nearest(str(condition.value), names)}"
                )


def _named(rule: Rule, models: set[str]) -> list[Condition]:
    # what a rule names outside its conditions: a judge, or a part of the run
    if isinstance(rule, DriftRule):
        return [Condition("judge", "=", rule.judge)]
    if not isinstance(rule, VerdictRule | SameRule) or not rule.reference.startswith(INSIDE):
        return []
    parts = zip(("model_id", "strategy"), part_of(rule.reference.removeprefix(INSIDE), models), strict=True)
    return [Condition(column, "=", name) for column, name in parts if name is not None]
