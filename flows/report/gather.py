"""Gathers a run's figures from the published marts as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flows.display.figures import LONG
from flows.display.policy import Policy, Texts
from flows.history.nights import MOST_NIGHTS, Nights, gather_nights
from flows.report.gather_judged import Judged, gather_judged
from flows.report.gather_run import gather_changes, gather_checked
from flows.report.gather_samples import Answered, Sampled, gather_answered, gather_sampled
from flows.report.queries import run
from flows.warehouse import Row, Warehouse
from flows.warehouse.duckdb_file import Connection, rows_of
from models_registry.errors import WarehouseError

if TYPE_CHECKING:
    from flows.gate.outcome import Checked


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

    runs = ask(run.RUN)
    if not runs:
        msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
        raise WarehouseError(msg)
    cards = _rows(con, run.TASKS, audit_run_id, texts.long)
    texts.sensitive = frozenset(row["task_id"] for row in cards if row["is_sensitive"])
    return Gathered(
        run=runs[0],
        texts=texts,
        models=ask(run.MODELS),
        tasks=ask(run.TASKS),
        scorecard=ask(run.SCORECARD),
        sensitivity_bins=ask(run.SENSITIVITY_BINS),
        consistencies=ask(run.CONSISTENCIES),
        stabilities=ask(run.STABILITIES),
        variants=ask(run.VARIANTS),
        formats=ask(run.FORMATS),
        accuracies=ask(run.ACCURACIES),
        failed_checks=ask(run.FAILED_CHECKS),
        n_checks=ask(run.N_CHECKS)[0]["n_checks"],
        top=ask(run.TOP),
        top_sensitivities=ask(run.TOP_SENSITIVITIES),
        top_labels=ask(run.TOP_LABELS),
        top_examples=ask(run.TOP_EXAMPLES),
        checked=gather_checked(warehouse, runs[0]),
        judged=gather_judged(ask),
        nights=gather_nights(ask, run.NIGHTLY, MOST_NIGHTS),
        changes=gather_changes(ask),
        sampled=gather_sampled(ask),
        answered=gather_answered(ask),
    )
