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
from flows.report.queries import LIMITS, query
from flows.warehouse import Row, Warehouse
from flows.warehouse.duckdb_file import Connection, rows_of
from models_registry.errors import WarehouseError

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult


@dataclass(frozen=True, slots=True)
class Gathered:
    """One run, as rows of the marts: what each is, the query of the same name says."""

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
    checked: GateResult | None
    judged: Judged
    nights: Nights
    changes: list[Row]
    sampled: Sampled
    answered: Answered


def rows(warehouse: Warehouse, text: str, audit_run_id: str, /, **values: object) -> list[Row]:
    """Returns the rows of one query about one run, from the published copy.

    `values` are bound by name, beside `$run` and `$long` and in place of LIMITS.
    """
    with warehouse.published.connect() as con:
        return _rows(con, text, audit_run_id, LONG, values)


def _rows(con: Connection, text: str, audit_run_id: str, long: int, values: Mapping[str, object]) -> list[Row]:
    """The rows of a query; long texts with one character more than `long`."""
    return rows_of(con, text, **{**LIMITS, "run": audit_run_id, "long": long + 1, **values})


def gather(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> Gathered:
    """Everything the report prints, texts as `text` says; raises WarehouseError where the run is not published."""
    with warehouse.published.connect() as con:
        return _gathered(con, warehouse, audit_run_id, Texts(text))


def _gathered(con: Connection, warehouse: Warehouse, audit_run_id: str, texts: Texts) -> Gathered:
    def ask(text: str, /, **values: object) -> list[Row]:
        return texts.kept(_rows(con, text, audit_run_id, texts.long, values))

    runs = ask(query("run"))
    if not runs:
        msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
        raise WarehouseError(msg)
    cards = _rows(con, query("tasks"), audit_run_id, texts.long, {})
    texts.sensitive = frozenset(row["task_id"] for row in cards if row["is_sensitive"])
    return Gathered(
        run=runs[0],
        texts=texts,
        models=ask(query("models")),
        tasks=ask(query("tasks")),
        scorecard=ask(query("scorecard")),
        sensitivity_bins=ask(query("sensitivity_bins")),
        consistencies=ask(query("consistencies")),
        stabilities=ask(query("stabilities")),
        variants=ask(query("variants")),
        formats=ask(query("formats")),
        accuracies=ask(query("accuracies")),
        failed_checks=ask(query("failed_checks")),
        n_checks=ask(query("n_checks"))[0]["n_checks"],
        top=ask(query("top")),
        top_sensitivities=ask(query("top_sensitivities")),
        top_labels=ask(query("top_labels")),
        top_examples=ask(query("top_examples")),
        checked=gather_checked(warehouse, runs[0]),
        judged=gather_judged(ask),
        nights=gather_nights(ask, query("nightly"), MOST_NIGHTS),
        changes=gather_changes(ask),
        sampled=gather_sampled(ask),
        answered=gather_answered(ask),
    )
