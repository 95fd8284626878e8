"""Gathers a run's figures from the published marts as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flows.report import queries
from flows.report.changes import gather_changes
from flows.report.checked import gather_checked
from flows.report.judged import Judged, gather_judged
from flows.report.nights import MOST_NIGHTS, Nights, gather_nights
from flows.report.sampled import Answered, Sampled, gather_answered, gather_sampled
from flows.report.text import LONG
from flows.report.texts import Policy, Texts
from flows.warehouse import Warehouse
from flows.warehouse.duckdb_file import Connection, rows_of
from models_registry.errors import WarehouseError

if TYPE_CHECKING:
    from flows.gate.checked import Checked

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Gathered:
    """One run, as rows of the marts: what each is, `queries.py` says under the same name."""

    run: Row
    texts: Texts
    models: list[Row]
    tasks: list[Row]
    scorecard: list[Row]
    sensitivity_bins: list[Row]
    consistencies: list[Row]
    stabilities: list[Row]
    variants: list[Row]
    formats: list[Row]
    accuracies: list[Row]
    failed_checks: list[Row]
    n_checks: int
    top: list[Row]
    top_sensitivities: list[Row]
    top_labels: list[Row]
    top_examples: list[Row]
    checked: Checked | None
    judged: Judged
    nights: Nights
    changes: list[Row]
    sampled: Sampled
    answered: Answered


def rows(
    warehouse: Warehouse, query: str, audit_run_id: str, values: Mapping[str, object] | None = None, *, long: int = LONG
) -> list[Row]:
    """Returns the rows of one query about one run, from the published copy; long texts with one character more than `long`.

    `values` are bound by name, beside `$run` and `$long`.
    """
    with warehouse.published.connect() as con:
        return rows_of(con, query, run=audit_run_id, long=long + 1, **values or {})


def _rows(con: Connection, query: str, audit_run_id: str, long: int) -> list[Row]:
    return rows_of(con, query, run=audit_run_id, long=long + 1)


def gather(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> Gathered:
    """Everything the report prints, texts as `text` says; raises WarehouseError where the run is not published."""
    with warehouse.published.connect() as con:
        return _gathered(con, warehouse, audit_run_id, Texts(text))


def _gathered(con: Connection, warehouse: Warehouse, audit_run_id: str, texts: Texts) -> Gathered:
    def ask(query: str) -> list[Row]:
        return texts.kept(_rows(con, query, audit_run_id, texts.long))

    runs = ask(queries.RUN)
    if not runs:
        msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
        raise WarehouseError(msg)
    cards = _rows(con, queries.TASKS, audit_run_id, texts.long)
    texts.sensitive = frozenset(row["task_id"] for row in cards if row["is_sensitive"])
    return Gathered(
        run=runs[0],
        texts=texts,
        models=ask(queries.MODELS),
        tasks=ask(queries.TASKS),
        scorecard=ask(queries.SCORECARD),
        sensitivity_bins=ask(queries.SENSITIVITY_BINS),
        consistencies=ask(queries.CONSISTENCIES),
        stabilities=ask(queries.STABILITIES),
        variants=ask(queries.VARIANTS),
        formats=ask(queries.FORMATS),
        accuracies=ask(queries.ACCURACIES),
        failed_checks=ask(queries.FAILED_CHECKS),
        n_checks=ask(queries.N_CHECKS)[0]["n_checks"],
        top=ask(queries.TOP),
        top_sensitivities=ask(queries.TOP_SENSITIVITIES),
        top_labels=ask(queries.TOP_LABELS),
        top_examples=ask(queries.TOP_EXAMPLES),
        checked=gather_checked(warehouse, runs[0]),
        judged=gather_judged(ask),
        nights=gather_nights(ask, queries.NIGHTLY, MOST_NIGHTS),
        changes=gather_changes(ask),
        sampled=gather_sampled(ask),
        answered=gather_answered(ask),
    )
