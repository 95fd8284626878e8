"""Reads what a gate is held against from the published copy: the run, its marts, comparisons, waivers and baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property

from promptaudit.flows.warehouse import Row, Warehouse
from promptaudit.flows.warehouse.duckdb_file import Connection, rows_of
from promptaudit.flows.warehouse.sql import sql
from promptaudit.models_registry.errors import UsageError, nearest
from promptaudit.models_registry.gate_columns import COMPARISONS
from promptaudit.models_registry.gate_rules import BASELINE, LAST_NIGHT

RUN = "select audit_run_id, audit_id, origin, state, started_at, card from raw.audit_runs"


@contextmanager
def source_of(warehouse: Warehouse, audit_run_id: str, comparison_ids: Collection[str] = ()) -> Iterator[Source]:
    """Opens the rows of one run for the block, all of one publication; none where nothing is published."""
    with ExitStack() as stack:
        is_there = warehouse.published.exists()
        con = stack.enter_context(warehouse.published.connect()) if is_there else None
        yield Source(warehouse, con, audit_run_id, frozenset(comparison_ids))


class Source:
    """The rows of one run; each table is read once. Raises UsageError where no such run is known at all."""

    def __init__(
        self, warehouse: Warehouse, con: Connection | None, audit_run_id: str, comparison_ids: frozenset[str]
    ) -> None:
        self.warehouse = warehouse
        self.audit_run_id = audit_run_id
        self._con = con
        self._comparison_ids = comparison_ids
        self._marts: dict[str, list[Row]] = {}

    def _read(self, query: str, values: Mapping[str, object]) -> list[Row]:
        return [] if self._con is None else rows_of(self._con, query, **values)

    @cached_property
    def _tables(self) -> set[str]:
        rows = self._read("select table_schema || '.' || table_name as name from information_schema.tables", {})
        return {row["name"] for row in rows}

    def _of(self, table: str, query: str, **values: object) -> list[Row]:
        """Rows of a query on a table that a publication before the first whole build has not."""
        return self._read(query, values) if table in self._tables else []

    @cached_property
    def run(self) -> Row:
        """Returns the run's row; `is_published` says whether readers have the run."""
        runs = self._of("raw.audit_runs", RUN)
        own = [row | {"is_published": True} for row in runs if row["audit_run_id"] == self.audit_run_id]
        if not own and self.warehouse.exists():
            rows = self.warehouse.read(f"{RUN} where audit_run_id = $audit_run_id", audit_run_id=self.audit_run_id)
            own = [row | {"is_published": False} for row in rows]
        if not own:
            msg = f"no run is {self.audit_run_id!r}{nearest(self.audit_run_id, (row['audit_run_id'] for row in runs))}"
            raise UsageError(msg)
        return own[0]

    def mart(self, table: str, audit_run_id: str | None = None) -> list[Row]:
        """Returns the rows that a mart has of this run, or of another."""
        run = audit_run_id or self.audit_run_id
        key = f"{table} {run}"
        if key not in self._marts:
            query = f"select * from marts.{table} where audit_run_id = $run"  # noqa: S608 - a table of ours
            self._marts[key] = self._of(f"marts.{table}", query, run=run)
        return self._marts[key]

    @cached_property
    def scoring_methods(self) -> dict[str, list[str]]:
        """Returns the scoring methods of each task."""
        return {row["task_id"]: list(row["scoring_methods"] or ()) for row in self.mart("dim_tasks")}

    @cached_property
    def n_samples(self) -> Row:
        """Returns how many samples the run asks, `n`, and how many of these the card calls critical, `n_critical`."""
        (row,) = self._of("marts.dim_samples", sql("gate", "n_samples"), run=self.audit_run_id) or [
            {"n": 0, "n_critical": 0}
        ]
        return row

    def base_of(self, reference: str) -> str | None:
        """Returns the run that a rule's reference names; None where there is none.

        `last_night` is the complete run of the audit and origin before this one, `baseline` the run pinned under that
        name, else the one pinned last, any other word the run pinned under it.
        """
        if reference == LAST_NIGHT:
            return self._before
        last = self._baselines[-1][1] if self._baselines and reference == BASELINE else None
        return self.pinned(reference) or last

    def pinned(self, name: str) -> str | None:
        """Returns the run of the audit that was last pinned under a name; None where none was."""
        return dict(self._baselines).get(name)

    @cached_property
    def _baselines(self) -> list[tuple[str, str]]:
        """Names and runs in the order in which the audit's baselines were pinned."""
        rows = self._of("raw.baselines", sql("gate", "baselines"), audit_id=self.run["audit_id"])
        return [(row["name"], row["audit_run_id"]) for row in rows]

    @cached_property
    def _before(self) -> str | None:
        rows = self._of("marts.dim_audit_runs", sql("gate", "night_before"), **self.run)
        return rows[0]["audit_run_id"] if rows else None

    @property
    def is_first(self) -> bool:
        """Returns whether no complete run of the audit is older."""
        return self._before is None

    @cached_property
    def night(self) -> list[Row]:
        """Returns what is told of the run's figures against normal nights; none of an import."""
        return self.mart("rpt_night_verdicts")

    @property
    def newest_night(self) -> str | None:
        """Returns the newest night of the run's audit that was held against normal nights; None without one."""
        rows = self._of("marts.rpt_night_states", sql("gate", "newest_night"), audit_id=self.run["audit_id"])
        return rows[0]["audit_run_id"] if rows else None

    @cached_property
    def ended_alarms(self) -> list[Row]:
        """Returns the alarms that a person ended after this run, which is the last night of them."""
        query = sql("gate", "ended_alarms")
        return self._of("marts.rpt_alarms", query, run=self.audit_run_id)

    def comparison(self, base_run_id: str) -> list[Row]:
        """Returns the rows of the newest comparison of every model with itself in the base run."""
        pair = {"base": base_run_id, "candidate": self.audit_run_id}
        ids = [row["comparison_id"] for row in self._of("raw.comparisons", sql("gate", "comparisons"), **pair)]
        rows = self._of(
            f"marts.{COMPARISONS.table}",
            f"select * from marts.{COMPARISONS.table} where base_run_id = $base and candidate_run_id = $candidate",  # noqa: S608
            **pair,
        )
        for wanted in ids:
            own = [row for row in rows if row["comparison_id"] == wanted]
            if own and (not self._comparison_ids or wanted in self._comparison_ids):
                return own
        return []

    def waivers(self, at: datetime) -> list[Row]:
        """Returns the waivers of this audit that still hold."""
        rows = self._of("raw.waivers", "select * from raw.waivers order by valid_until desc, accepted_at desc")
        return [row for row in rows if row["audit_id"] == self.run["audit_id"] and row["valid_until"] > at]
