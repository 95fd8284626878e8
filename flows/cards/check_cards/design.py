"""Whether the part of the grid that an audit asks fits its wordings and its gate."""

from __future__ import annotations

from promptaudit.flows.cards.check_cards.cards import AuditCards, Errors
from promptaudit.flows.cards.rewording import n_variants
from promptaudit.models_registry.cards import TaskCard
from promptaudit.models_registry.errors import CardError
from promptaudit.models_registry.gate_rules import Rule, ValueRule
from promptaudit.models_registry.gates import parse_rule
from promptaudit.models_registry.mart_columns import mart_columns
from promptaudit.models_registry.samples import ChosenSamples

SPREAD = "accuracy_std"
"""A measure of comparisons that needs all wordings too."""


def check_design(cards: AuditCards) -> Errors:
    """Yields an error unless there are more wordings than each sample is asked under, and the gate can be held to such a run."""
    wanted, audit_id = cards.audit.design.wordings_per_sample, cards.audit_id
    if wanted is None:
        return
    where = cards.where("audits", audit_id, "design", "wordings_per_sample")
    if cards.rephraser is not None and cards.rephraser.is_self:
        yield CardError(
            f"{where}: design.wordings_per_sample deals the wordings that all models are asked, and with a rephraser of model "
            "'self' each model has its own; leave it out, or name the model that rewords"
        )
    for name, task in cards.tasks.items():
        n_wordings = _n_wordings(cards, name, task)
        if n_wordings is not None and n_wordings <= wanted:
            yield CardError(
                f"{where}: design.wordings_per_sample is {wanted}, and task '{name}' has {n_wordings} wordings: give fewer "
                "than that, or leave it out"
            )
        n_samples = None
        if name in cards.samples:
            n_rows = len(cards.samples[name].samples)
            n_samples = n_rows // cards.audit.samples.of(name).n_panels(n_rows)
        if n_wordings is not None and n_samples is not None and n_samples * wanted < n_wordings:
            yield CardError(
                f"{where}: design.wordings_per_sample is {wanted}, and {n_samples} samples of task '{name}' leave some of its "
                f"{n_wordings} wordings without a sample: give more, or leave it out"
            )
    n_temperatures = len((cards.audit.rephrasing.temperatures if cards.audit.rephrasing is not None else None) or ())
    if wanted < 2 * n_temperatures:
        yield CardError(
            f"{where}: design.wordings_per_sample is {wanted}, and PSS compares two wordings of each of {n_temperatures} "
            f"paraphrase temperatures: give {2 * n_temperatures} or more, or leave it out"
        )
    for index, text in enumerate(cards.audit.gate):
        measure = _needing_all(parse_rule(text))
        if measure is not None:
            where = cards.where("audits", audit_id, "gate", index)
            yield CardError(
                f"{where}: gate.{index}: {measure} needs every sample under every wording, and with "
                f"design.wordings_per_sample: {wanted} it is never known; leave out one of the two"
            )


def needs_full_grid(cards: AuditCards) -> str | None:
    """Returns why every sample of an audit has to be asked under every wording, beside its measures; None where it need not."""
    if cards.rephraser is not None and cards.rephraser.is_self:
        return "each model has wordings of its own"
    measures = ((index, _needing_all(parse_rule(text))) for index, text in enumerate(cards.audit.gate))
    return next((f"gate.{index} is about {name}" for index, name in measures if name is not None), None)


def _n_wordings(cards: AuditCards, task_id: str, task: TaskCard) -> int | None:
    """Returns how many variants a task has under the strategy with fewest; None where its templates are not there."""
    templates = cards.templates_of(task)
    if task.templates is not None and templates is None:
        return None
    chosen = cards.samples.get(task_id, ChosenSamples((), task.examples or {}))
    strategies = cards.audit.strategies if task.templates is None else ("simple",)
    return min(n_variants(cards.audit, task, strategy, templates, chosen) for strategy in strategies)


def _needing_all(rule: Rule) -> str | None:
    """Returns the measure of a rule that needs every sample under every wording."""
    columns = mart_columns("rpt_audit")
    if isinstance(rule, ValueRule):
        column = columns.get(rule.figure) if rule.table == "rpt_audit" else None
        return rule.column if column is not None and column.needs_full_grid else None
    needing = {SPREAD, *(column.compared for column in columns.values() if column.needs_full_grid)}
    return rule.measure if rule.measure is not None and rule.measure.partition(":")[0] in needing else None
