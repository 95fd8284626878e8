"""Gathers a run's figures from the published marts as plain rows."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from flows.display.policy import Policy, Texts
from flows.history.nights import MOST_NIGHTS, Nights, gather_nights
from flows.report.ask_copy import Copy, rows
from flows.report.blocks.blocks import by
from flows.report.gather_answers import GridAnswers, gather_answers
from flows.report.gather_judging import JudgingData, gather_judging
from flows.report.queries import query
from flows.report.summary import Summary, gate_of, summarise
from flows.warehouse import Row, Warehouse

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """What a report says of one run. Each list of rows is what the query of its name gives."""

    run: Row
    texts: Texts
    gate: GateResult | None  # None: the run did not land
    summary: Summary
    judging: JudgingData
    answers: GridAnswers
    nights: Nights
    n_checks: int
    has_formats_page: bool
    models: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    scorecard: list[Row] = field(default_factory=list)
    sensitivity_bins: list[Row] = field(default_factory=list)
    consistencies: list[Row] = field(default_factory=list)
    stabilities: list[Row] = field(default_factory=list)
    variants: list[Row] = field(default_factory=list)
    formats: list[Row] = field(default_factory=list)
    accuracies: list[Row] = field(default_factory=list)
    failed_checks: list[Row] = field(default_factory=list)
    top: list[Row] = field(default_factory=list)
    top_sensitivities: list[Row] = field(default_factory=list)
    top_labels: list[Row] = field(default_factory=list)
    top_examples: list[Row] = field(default_factory=list)
    changes: list[Row] = field(default_factory=list)
    # about samples
    references: list[Row] = field(default_factory=list)
    class_sensitivities: list[Row] = field(default_factory=list)
    sample_spreads: list[Row] = field(default_factory=list)
    clouds: list[Row] = field(default_factory=list)
    telling: list[Row] = field(default_factory=list)
    consistency_bins: list[Row] = field(default_factory=list)
    pairs: list[Row] = field(default_factory=list)
    sample_pairs: list[Row] = field(default_factory=list)
    pair_distances: list[Row] = field(default_factory=list)
    measures_by_wordings: list[Row] = field(default_factory=list)
    variations: list[Row] = field(default_factory=list)
    design_widths: list[Row] = field(default_factory=list)
    designs: list[Row] = field(default_factory=list)
    # about answers
    distinct_answers: list[Row] = field(default_factory=list)
    prompt_variants: list[Row] = field(default_factory=list)
    accuracy_spreads: list[Row] = field(default_factory=list)
    answer_totals: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    stabilities_by_share: list[Row] = field(default_factory=list)
    # across tasks
    measures_across_tasks: list[Row] = field(default_factory=list)
    sensitivity_against_consistency: list[Row] = field(default_factory=list)
    scoring_across_tasks: list[Row] = field(default_factory=list)


QUERIES = tuple(each.name for each in fields(ReportData) if each.default_factory is list)


def gather(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> ReportData:
    """Returns everything the report prints, texts as `text` says; raises WarehouseError where the run is not published."""
    with warehouse.published.connect() as con:
        copy = Copy(con, warehouse, audit_run_id, Texts(text))
        return _gathered(copy, warehouse, gather_answers(con, audit_run_id, copy.texts))


def _gathered(copy: Copy, warehouse: Warehouse, answers: GridAnswers) -> ReportData:
    rows_of_queries = {name: copy(query(name)) for name in QUERIES}
    rows_of_queries["changes"] = _unquoted(copy, warehouse, rows_of_queries["changes"])
    gate = gate_of(warehouse, copy.run)
    return ReportData(
        run=copy.run,
        texts=copy.texts,
        gate=gate,
        summary=summarise(copy, gate, rows_of_queries),
        judging=gather_judging(copy),
        answers=answers,
        nights=gather_nights(copy, query("nightly"), MOST_NIGHTS),
        has_formats_page=warehouse.places.formats_page(copy.run["audit_run_id"]).is_file(),
        n_checks=copy(query("n_checks"))[0]["n_checks"],
        **rows_of_queries,
    )


def _unquoted(copy: Copy, warehouse: Warehouse, compared: list[Row]) -> list[Row]:
    """The measures that were compared, with reasons that quote no text which is left out."""
    if all(copy.texts.of(row["task_id"]) != "none" for row in compared):
        return compared
    recorded = query("recorded_changes")
    return [
        row
        for comparison, own in by(compared, "comparison_id").items()
        for row in copy.texts.unquoted(own, rows(warehouse, recorded, copy.run["audit_run_id"], comparison=comparison))
    ]
