"""Follows one measure over the nights of an audit: a figure a night, with its interval and its counts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from promptaudit.query.history.columns import COUNTS, source_of
from promptaudit.query.history.nights import Nights, NightVerdict, differs, gather_nights
from promptaudit.registry.errors import UsageError, WarehouseError, refuse_unknown
from promptaudit.registry.gate_columns import compared_as
from promptaudit.registry.mart_columns import mart_columns
from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.system.display.figures import finite
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import chosen, complete_runs
from promptaudit.warehouse.sql import sql

Key = tuple[str, str, str | None]  # task, model, strategy

GRAVITY = ("regressed", "changed", "unconfirmed", "not_comparable", "improved", "suspect", "none_shown")


class Figure(NamedTuple):
    """A figure of a run, with its names and counts as far as the measure's query has them."""

    audit_run_id: str
    task_id: str
    model_id: str
    strategy: str | None
    figure: float | None
    low: float | None
    high: float | None
    n_samples: int
    n_variants: int
    measure_version: int
    scoring_method: str | None = None
    n_samples_planned: int | None = None
    n_variants_answered: int | None = None
    n_repetitions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One complete run in a series, with full precision.

    strategy: None over all strategies. figure, low, high: as the marts have them; None where they do not exist. n_…:
    the counts behind the figure; None where the run has no row of the series. is_comparable: whether the figure and the
    last one before it have equally many samples, variants and asks (`differs` says which are not equal); None where
    there is no other figure. verdict, reason: from rpt_night_verdicts, against normal nights; None for an import.
    normal_low, normal_high: the normal band. marks: what people said of the night, and whether something else was
    asked.
    """

    audit_id: str
    measure: str
    model_id: str
    task_id: str
    strategy: str | None
    audit_run_id: str
    started_at: datetime
    figure: float | None = None
    low: float | None = None
    high: float | None = None
    n_samples: int | None = None
    n_samples_planned: int | None = None
    n_variants: int | None = None
    n_variants_answered: int | None = None
    n_repetitions: int | None = None
    is_comparable: bool | None = None
    differs: str = ""
    verdict: str | None = None
    reason: str | None = None
    normal_low: float | None = None
    normal_high: float | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One model, task and strategy (None: over all strategies) with its nights, oldest first."""

    model_id: str
    task_id: str
    strategy: str | None
    nights: tuple[Night, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A measure of an audit over its nights, with a series for each model, task and strategy.

    alarms: how many alarms of all the audit's nights ended in which way: recovered, accepted, false, new_plan,
    no_longer_asked, or standing.
    """

    audit_id: str
    measure: str
    alarms: Mapping[str, int] = field(default_factory=dict)
    series: tuple[Series, ...] = field(metadata=NOT_ENCODED)

    @encoded_property
    def nights(self) -> tuple[Night, ...]:
        """Lists the nights of all series, one series after the other."""
        return tuple(night for series in self.series for night in series.nights)


def history(
    warehouse: Warehouse,
    measure: str,
    *,
    audit: str | None = None,
    model: str | None = None,
    task: str | None = None,
    strategy: str | None = None,
    limit: int = 30,
) -> History:
    """Follows a measure over the last `limit` (1 or more) complete runs of an audit, in the published copy.

    measure: a numeric column of marts.rpt_audit, `accuracy:<scoring method>` (mean over templates),
    `accuracy_rectified:<judge>` (the same as people would say), `accuracy_std:<scoring method>` (their corrected
    spread), `judge_agreement`, with judges in the place of models, or what nights compare beside the label:
    `answer_length` (characters) and `completion_tokens`, geometric means over samples of 1 + the count, less 1,
    `token_limit_rate`, `refusal_rate`. audit: by default the audit of the newest complete run. model, task, strategy:
    one of each; default all. A night without a figure is listed with None.

    Raises:
        UsageError: a name that is not there, with the nearest one.
        WarehouseError: nothing is published, or no run is complete.
    """
    if limit < 1:
        msg = f"--limit {limit}: 1 or more"
        raise UsageError(msg)
    with warehouse.published.connect():
        runs = complete_runs(warehouse)
        if not runs:
            msg = f"{warehouse.published.path}: no complete run is published"
            raise WarehouseError(msg)
        newest = {run.audit_id: run.audit_run_id for run in reversed(runs)}
        is_an_audit = audit is None and measure in newest
        audit = runs[0].audit_id if audit is None else audit
        refuse_unknown("--audit", audit, newest, "none of that name has a complete run")
        run = newest[audit]
        try:
            source = source_of(warehouse.published.read, measure)
        except UsageError:
            if not is_an_audit:
                raise
            msg = f"no measure '{measure}', which is an audit: --audit {shlex.quote(measure)} names it"
            raise UsageError(msg) from None
        gathered = gather_nights(partial(warehouse.published.read, run=run), source.figures, limit)
        alarms = warehouse.published.read(sql("query.history", "alarms"), audit=audit)
    figures = rows_as(Figure, gathered.figures)
    figures = [row for row in figures if source.method in (None, row.scoring_method)]
    if strategy is not None and figures and all(row.strategy is None for row in figures):
        msg = f"--strategy {strategy[:80]}: this measure is over all strategies"
        raise UsageError(msg)
    why = "none of that name has this measure in these nights"
    figures = chosen(figures, why, task=task, model=model, strategy=strategy)
    series = tuple(_series(gathered, figures, audit, measure))
    return History(audit_id=audit, measure=measure, alarms={row["ended_by"]: row["n"] for row in alarms}, series=series)


def _series(gathered: Nights, figures: list[Figure], audit: str, measure: str) -> Iterable[Series]:
    # every series has every night
    by_key: dict[Key, dict[str, Figure]] = {}
    for row in figures:
        by_key.setdefault((row.task_id, row.model_id, row.strategy), {})[row.audit_run_id] = row
    declared = mart_columns("rpt_audit").get(measure)
    name = (declared and declared.compared) or compared_as(measure)
    verdicts: dict[tuple[str, str, str], list[NightVerdict]] = {}
    for each in gathered.verdicts:
        if each.measure == name:
            verdicts.setdefault((each.audit_run_id, each.task_id, each.model_id), []).append(each)
    for key in sorted(by_key, key=lambda key: (key[0], key[2] or "", key[1])):
        task_id, model_id, strategy = key
        own, nights = by_key[key], []
        last = own.get(gathered.before) if gathered.before else None
        if last is not None and last.figure is None:
            last = None
        for run in gathered.runs:
            night = Night(
                audit_id=audit,
                measure=measure,
                model_id=model_id,
                task_id=task_id,
                strategy=strategy,
                audit_run_id=run.audit_run_id,
                started_at=run.started_at,
                marks=tuple(
                    mark.mark
                    for mark in gathered.marks
                    if mark.audit_run_id == run.audit_run_id and mark.is_of(model_id, task_id, strategy)
                ),
            )
            now = own.get(run.audit_run_id)
            verdict = _verdict(verdicts.get((run.audit_run_id, task_id, model_id), []), strategy)
            if verdict is not None and strategy is not None and name == measure and (band := verdict.band):
                night = replace(night, normal_low=band[0], normal_high=band[1])
            nights.append(night if now is None else _with_figure(night, now, last, verdict))
            if now is not None and now.figure is not None:
                last = now
        if any(night.n_samples is not None for night in nights):  # else only the night before them has a row
            yield Series(model_id=model_id, task_id=task_id, strategy=strategy, nights=tuple(nights))


def _verdict(rows: list[NightVerdict], strategy: str | None) -> NightVerdict | None:
    # a series over all strategies gets the gravest of their verdicts, with the strategy before its reason
    if strategy is not None:
        return next((row for row in rows if row.strategy == strategy), None)
    worst = min(
        rows, key=lambda row: GRAVITY.index(row.verdict) if row.verdict in GRAVITY else len(GRAVITY), default=None
    )
    return None if worst is None else worst._replace(reason=f"{worst.strategy}: {worst.reason}")


def _with_figure(night: Night, row: Figure, last: Figure | None, verdict: NightVerdict | None) -> Night:
    changes = None if last is None or row.figure is None else differs(last._asdict(), row._asdict())
    return replace(
        night,
        figure=finite(row.figure),
        low=finite(row.low),
        high=finite(row.high),
        **{name: getattr(row, name) for name in COUNTS},
        is_comparable=None if changes is None else not changes,
        differs=changes or "",
        verdict=verdict and verdict.verdict,
        reason=verdict and verdict.reason,
    )
