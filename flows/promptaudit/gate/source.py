"""Reads from the published copy what a gate checks: the run, its marts, comparisons, waivers and baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeVar

from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.gate_columns import COMPARISONS
from promptaudit.registry.gate_rules import BASELINE, LAST_NIGHT
from promptaudit.system.display.compared import NightFigure, RunsCompared
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.sql import sql

RUN = "select audit_run_id, audit_id, origin, state, started_at, run_index, card from raw.audit_runs"
Kind = TypeVar("Kind")
Group = tuple[str, str, str]
"""Model, task and strategy."""


class GatedRun(NamedTuple):
    """A run. `is_published` says whether readers have it."""

    audit_run_id: str
    audit_id: str
    origin: str
    state: str
    started_at: datetime
    run_index: int
    card: str | None
    is_published: bool = True


class NightState(NamedTuple):
    """How a night of a model, task and strategy compares with normal nights."""

    model_id: str
    task_id: str
    strategy: str
    state: str
    n_nights_normal: int
    n_samples: int
    n_samples_counted: int
    n_samples_shared: int
    memory: Row

    @property
    def group(self) -> Group:
        """Joins its model, task and strategy."""
        return self.model_id, self.task_id, self.strategy

    @property
    def has_alarm(self) -> bool:
        """Says whether an alarm stands."""
        return self.memory["since"] is not None


class Parts(NamedTuple):
    """Which parts of two runs are compared: a model, a strategy or both. Without any, each part with itself."""

    base_model_id: str | None = None
    base_strategy: str | None = None
    candidate_model_id: str | None = None
    candidate_strategy: str | None = None

    def is_candidate(self, group: Group) -> bool:
        """Checks whether a model, task and strategy belongs to the candidate."""
        return self.candidate_model_id in (None, group[0]) and self.candidate_strategy in (None, group[2])

    def base_of(self, group: Group) -> Group:
        """Finds the model, task and strategy that one of the candidate is compared with."""
        return self.base_model_id or group[0], group[1], self.base_strategy or group[2]


WHOLE = Parts()


class LostSample(NamedTuple):
    """A sample that is lost, or may be, with the number of nights on which it was right and then wrong."""

    model_id: str
    task_id: str
    strategy: str
    measure: str
    sample_id: str
    n_nights_right: int
    n_nights_wrong: int
    is_critical: bool
    is_lost: bool | None = True  # False: not known yet; NULL for a night before there was a test
    n_wordings: int | None = None  # under which it is lost; None: under all


class Waiver(NamedTuple):
    """A rule that somebody accepted to fail, with the reason and the end."""

    rule: str
    model_id: str | None
    task_id: str | None
    strategy: str | None
    measure: str | None
    reason: str
    valid_until: datetime


@contextmanager
def source_of(warehouse: Warehouse, audit_run_id: str, comparison_ids: Collection[str] = ()) -> Iterator[Source]:
    """Opens the rows of one run for the block, all of one publication. Empty where nothing is published."""
    with ExitStack() as stack:
        is_there = warehouse.published.exists()
        con = stack.enter_context(warehouse.published.connect()) if is_there else None
        yield Source(warehouse, con, audit_run_id, frozenset(comparison_ids))


@dataclass(frozen=True)
class Source:
    """The rows of one run; each table is read once. Raises UsageError where no such run is known at all."""

    warehouse: Warehouse
    con: Connection | None
    audit_run_id: str
    comparison_ids: frozenset[str]
    _marts: dict[str, list[Row]] = field(default_factory=dict)

    def _read(self, query: str, values: Mapping[str, object]) -> list[Row]:
        return [] if self.con is None else rows_of(self.con, query, **values)

    @cached_property
    def _tables(self) -> set[str]:
        rows = self._read("select table_schema || '.' || table_name as name from information_schema.tables", {})
        return {row["name"] for row in rows}

    def _of(self, table: str, query: str, **values: object) -> list[Row]:
        # a publication before the first whole build lacks some tables
        return self._read(query, values) if table in self._tables else []

    @cached_property
    def run(self) -> GatedRun:
        """Finds the run."""
        runs = rows_as(GatedRun, self._of("raw.audit_runs", RUN))
        own = [run for run in runs if run.audit_run_id == self.audit_run_id]
        if not own and self.warehouse.exists():
            rows = self.warehouse.read(f"{RUN} where audit_run_id = $audit_run_id", audit_run_id=self.audit_run_id)
            own = [run._replace(is_published=False) for run in rows_as(GatedRun, rows)]
        if not own:
            msg = f"no run is {self.audit_run_id!r}{nearest(self.audit_run_id, (run.audit_run_id for run in runs))}"
            raise UsageError(msg)
        return own[0]

    def mart(self, table: str, audit_run_id: str | None = None) -> list[Row]:
        """Reads the rows that a mart has of this run, or of another."""
        run = audit_run_id or self.audit_run_id
        key = f"{table} {run}"
        if key not in self._marts:
            query = f"select * from marts.{table} where audit_run_id = $run"  # noqa: S608 - a table of ours
            self._marts[key] = self._of(f"marts.{table}", query, run=run)
        return self._marts[key]

    @cached_property
    def scoring_methods(self) -> dict[str, list[str]]:
        """Lists the scoring methods of each task."""
        return {row["task_id"]: list(row["scoring_methods"] or ()) for row in self.mart("dim_tasks")}

    def groups(self, audit_run_id: str | None = None) -> list[Group]:
        """Lists the models, tasks and strategies that this run, or another, asked."""
        return [(row["model_id"], row["task_id"], row["strategy"]) for row in self.mart("rpt_audit", audit_run_id)]

    @cached_property
    def n_samples(self) -> tuple[int, int]:
        """Counts the samples that the run asks, and how many of them the card calls critical."""
        rows = self._of("marts.dim_samples", sql("gate", "n_samples"), run=self.audit_run_id)
        return (rows[0]["n"], rows[0]["n_critical"]) if rows else (0, 0)

    def base_of(self, reference: str) -> str | None:
        """Finds the run that a rule's reference names. None where there is none.

        `last_night` is the complete run of the audit and origin before this one. `baseline` is the run pinned under
        that name, else the one pinned last. Any other word is the run pinned under it.
        """
        if reference == LAST_NIGHT:
            return self._before
        last = self._baselines[-1][1] if self._baselines and reference == BASELINE else None
        return self.pinned(reference) or last

    def pinned(self, name: str) -> str | None:
        """Finds the run of the audit that was last pinned under a name. None where none was."""
        return dict(self._baselines).get(name)

    @cached_property
    def _baselines(self) -> list[tuple[str, str]]:
        # in the order in which they were pinned
        rows = self._of("raw.baselines", sql("gate", "baselines"), audit_id=self.run.audit_id)
        return [(row["name"], row["audit_run_id"]) for row in rows]

    @cached_property
    def _before(self) -> str | None:
        rows = self._of("marts.dim_audit_runs", sql("gate", "night_before"), **self.run._asdict())
        return rows[0]["audit_run_id"] if rows else None

    @property
    def is_first(self) -> bool:
        """Says whether no complete run of the audit is older."""
        return self._before is None

    @cached_property
    def night(self) -> list[NightFigure]:
        """Reads the verdicts on the run's figures against normal nights. Empty for an import."""
        return [NightFigure.of(row) for row in self.mart("rpt_night_verdicts")]

    @property
    def night_before(self) -> list[NightFigure]:
        """Reads the verdicts on the run before this one. Empty on the first."""
        return (
            []
            if self._before is None
            else [NightFigure.of(row) for row in self.mart("rpt_night_verdicts", self._before)]
        )

    @cached_property
    def night_states(self) -> list[NightState]:
        """Reads how the run's models, tasks and strategies compare with normal nights. Empty for an import."""
        return _parts(NightState, self.mart("rpt_night_states"))

    @property
    def samples_lost(self) -> list[LostSample]:
        """Reads the samples that the run lost, or may have lost."""
        return _parts(LostSample, self.mart("fct_samples_lost"))

    @property
    def newest_night(self) -> str | None:
        """Finds the newest night of the run's audit that was compared with normal nights. None without one."""
        rows = self._of("marts.rpt_night_states", sql("gate", "newest_night"), audit_id=self.run.audit_id)
        return rows[0]["audit_run_id"] if rows else None

    @cached_property
    def ended_alarms(self) -> dict[Group, str]:
        """Maps each group to the reason why a person ended an alarm after this run, the alarm's last night."""
        rows = self._of("marts.rpt_alarms", sql("gate", "ended_alarms"), run=self.audit_run_id)
        return {(row["model_id"], row["task_id"], row["strategy"]): row["reason"] for row in rows}

    def comparison(self, base_run_id: str, parts: Parts = WHOLE) -> list[RunsCompared]:
        """Reads the rows of the newest comparison with a base run, or of these parts of the two runs."""
        pair = {"base": base_run_id, "candidate": self.audit_run_id}
        asked = self._of("raw.comparisons", sql("gate", "comparisons"), **pair, **parts._asdict())
        ids = [row["comparison_id"] for row in asked]
        rows = self._of(
            f"marts.{COMPARISONS.table}",
            f"select * from marts.{COMPARISONS.table} where base_run_id = $base and candidate_run_id = $candidate",  # noqa: S608
            **pair,
        )
        for wanted in ids:
            own = [row for row in rows if row["comparison_id"] == wanted]
            if own and (not self.comparison_ids or wanted in self.comparison_ids):
                return [RunsCompared.of(row) for row in own]
        return []

    def waivers(self, at: datetime) -> list[Waiver]:
        """Lists the waivers of this audit that still hold, the one that holds longest first."""
        rows = self._of("raw.waivers", "select * from raw.waivers order by valid_until desc, accepted_at desc")
        waivers = _parts(Waiver, (row for row in rows if row["audit_id"] == self.run.audit_id))
        return [waiver for waiver in waivers if waiver.valid_until > at]


def _parts(kind: type[Kind], rows: Iterable[Row]) -> list[Kind]:
    # `kind` has only some of the columns
    return rows_as(kind, ({name: row[name] for name in kind.__annotations__ if name in row} for row in rows))
