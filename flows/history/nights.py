"""The nights of an audit: its complete runs in order, the figures of each, and what keeps two nights from comparing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from flows.warehouse import Ask, Row
from flows.warehouse.schema import TABLES

MOST_NIGHTS = 60  # in the report
COMPARISONS = {"marts.rpt_run_comparisons", "raw.comparisons"}
# column, its word; a figure over fewer of these is another figure (sensitivity above all)
DENOMINATORS = (
    ("n_samples", "samples"), ("n_variants", "variants"), ("n_variants_quarantined", "quarantined"),
    ("n_repetitions", "asks"), ("measure_version", "measures version"),
)  # fmt: skip
STEPS = ("%m-%d", "%m-%d %H:%M", "%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S")  # the parts a night's name may have
DATED = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")


# up to $run itself, newest first; one more than is shown, for what the oldest shown is compared with
_NIGHTS = """
with this as (
    select audit_id, started_at, audit_run_id, origin from marts.dim_audit_runs where audit_run_id = $run
),

nights as (
    select found.audit_run_id, found.started_at
    from marts.dim_audit_runs as found
    inner join this on found.audit_id = this.audit_id
    where found.state = 'complete'
        -- a trial is of chosen samples: it is no night, and has none before it
        and (found.audit_run_id = this.audit_run_id or (found.origin != 'trial' and this.origin != 'trial'))
        and (found.started_at, found.audit_run_id) <= (this.started_at, this.audit_run_id)
    order by found.started_at desc, found.audit_run_id desc
    limit $limit
)
"""
RUNS = f"{_NIGHTS} select * from nights order by started_at, audit_run_id"  # noqa: S608 - our own words
FIGURES = f"""{_NIGHTS}
select $columns
from $table as found
inner join nights using (audit_run_id)
order by nights.started_at, found.audit_run_id
"""  # noqa: S608 - our own words
# of several comparisons of one pair of nights the newest counts
VERDICTS = f"""{_NIGHTS},

pairs as (
    select audit_run_id, lag(audit_run_id) over (order by started_at, audit_run_id) as base_run_id from nights
),

requests as (
    select comparison_id, max(requested_at) as requested_at from raw.comparisons where not is_trial group by all
)

select pairs.audit_run_id, found.model_id, found.task_id, found.strategy, found.measure, found.verdict, found.reason
from marts.rpt_run_comparisons as found
inner join pairs on found.candidate_run_id = pairs.audit_run_id and found.base_run_id = pairs.base_run_id
inner join requests using (comparison_id)
where coalesce(found.base_model_id, found.model_id) = found.model_id
qualify row_number() over (
    partition by pairs.audit_run_id, found.model_id, found.task_id, found.strategy, found.measure
    order by requests.requested_at desc, found.comparison_id desc
) = 1
order by pairs.audit_run_id, found.task_id, found.strategy, found.model_id, found.measure
"""  # noqa: S608 - our own words


@dataclass(slots=True)
class Nights:
    """The last complete runs of an audit up to one of them, oldest first, with figures and verdicts of each.

    `runs` has audit_run_id and started_at; `figures` the rows asked for; `verdicts` what rpt_run_comparisons says of each
    night against the one before it, by model, task, strategy and measure: none in a warehouse without comparisons.
    `before` is the night before the first.
    """

    runs: list[Row] = field(default_factory=list)
    figures: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)
    before: str | None = None


def gather_nights(ask: Ask, columns: str, limit: int, table: str = "marts.rpt_audit") -> Nights:
    """The nights of `$run`'s audit up to `$run`, at most `limit`; `columns` and `table` are our own words."""

    def put(query: str) -> str:
        for name, words in {"$limit": str(limit + 1), "$columns": columns, "$table": table}.items():
            query = query.replace(name, words)
        return query

    runs = ask(put(RUNS))
    has_comparisons = {row["name"] for row in ask(TABLES)} >= COMPARISONS
    return Nights(
        runs=runs[-limit:],
        figures=ask(put(FIGURES)),
        verdicts=ask(put(VERDICTS)) if has_comparisons else [],
        before=runs[0]["audit_run_id"] if len(runs) > limit else None,
    )


def differs(before: Row, now: Row) -> str:
    """What two nights' figures are not both of, in words: `variants 30 → 12`; nothing where they compare."""
    changes = [
        f"{word} {_said(before[name])} → {_said(now[name])}"
        for name, word in DENOMINATORS
        if name in before and name in now and before[name] != now[name]
    ]
    return ", ".join(changes)


def night_names(times: Sequence[datetime], steps: Sequence[str] = STEPS) -> list[str]:
    """Each time in the fewest parts that tell all of them apart: `11-04` for nights, with the hour for runs of one day."""
    for step in steps:
        names = [f"{time:{step}}" for time in times]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _said(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
