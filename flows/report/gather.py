"""Gathers a run's figures from the published marts as plain rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from flows.display.figures import LONG
from flows.display.policy import Policy, Texts
from flows.history.nights import MOST_NIGHTS, Nights, gather_nights
from flows.report.gather_answers import GridAnswers, gather_answers
from flows.report.gather_judging import JudgingData, gather_judging
from flows.report.queries import LIMITS, query
from flows.warehouse import Row, Warehouse
from flows.warehouse.duckdb_file import Connection, rows_of
from flows.warehouse.schema import TABLES
from models_registry.errors import CardError, UsageError, WarehouseError

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult

_TABLE, _COMMENT = re.compile(r"\b(?:marts|raw)\.\w+"), re.compile(r"--.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """What a report says of one run. Each list of rows is what the query of its name gives."""

    run: Row
    texts: Texts
    gate: GateResult | None  # None: the run did not land, or its rules are of another version
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
LATER = QUERIES[QUERIES.index("changes") :]
"""Those of tables that came later than the first ones: the copy of an older version may lack them."""


def rows(warehouse: Warehouse, text: str, audit_run_id: str, /, **values: object) -> list[Row]:
    """Returns the rows of one query about one run, from the published copy.

    `values` are bound by name, beside `$run` and `$long` and in place of LIMITS.
    """
    with warehouse.published.connect() as con:
        return _rows(con, text, audit_run_id, LONG, values)


def _rows(con: Connection, text: str, audit_run_id: str, long: int, values: Mapping[str, object]) -> list[Row]:
    """The rows of a query; long texts with one character more than `long`."""
    return rows_of(con, text, **{**LIMITS, "run": audit_run_id, "long": long + 1, **values})


def gather(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> ReportData:
    """Returns everything the report prints, texts as `text` says; raises WarehouseError where the run is not published.

    A query of LATER gives no rows where a warehouse of an older version lacks one of its tables.
    """
    with warehouse.published.connect() as con:
        return _gathered(con, warehouse, audit_run_id, Texts(text))


def _gathered(con: Connection, warehouse: Warehouse, audit_run_id: str, texts: Texts) -> ReportData:
    def ask(text: str, /, **values: object) -> list[Row]:
        return texts.kept(_rows(con, text, audit_run_id, texts.long, values))

    runs = ask(query("run"))
    if not runs:
        msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
        raise WarehouseError(msg)
    cards = _rows(con, query("tasks"), audit_run_id, texts.long, {})
    texts.sensitive = frozenset(row["task_id"] for row in cards if row["is_sensitive"])
    tables = {row["name"] for row in ask(TABLES)}
    texts_of = {name: query(name) for name in QUERIES}
    lacking = {name for name in LATER if not tables.issuperset(_TABLE.findall(_COMMENT.sub("", texts_of[name])))}
    rows_of_queries = {name: [] if name in lacking else ask(text) for name, text in texts_of.items()}
    return ReportData(
        run=runs[0],
        texts=texts,
        gate=gather_gate(warehouse, runs[0]),
        judging=gather_judging(ask),
        answers=gather_answers(con, audit_run_id, texts),
        nights=gather_nights(ask, query("nightly"), MOST_NIGHTS),
        has_formats_page=warehouse.places.formats_page(audit_run_id).is_file(),
        n_checks=ask(query("n_checks"))[0]["n_checks"],
        **rows_of_queries,
    )


def gather_gate(warehouse: Warehouse, run: Row) -> GateResult | None:
    """Returns what the gate says of a run, its age left aside; None without its landed row, and for rules of another version."""
    from flows.gate.check import check_run

    try:
        return check_run(warehouse, run["audit_run_id"], now=run["started_at"])
    except (CardError, UsageError, WarehouseError):
        return None
