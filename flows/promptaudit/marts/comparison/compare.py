"""Compares runs pair by pair: lands the wanted pairs, has dbt derive them, and publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, astuple, dataclass

from promptaudit.marts.publish import newest_published, publish
from promptaudit.marts.transform import Command, transform
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import UsageError
from promptaudit.system.clock import now
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

AT_ONCE = 4  # comparisons a build: their answers lie side by side in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs, or a model or a strategy of each, and the thresholds for a difference between them."""

    base_run_id: str
    candidate_run_id: str
    base_model_id: str | None = None
    candidate_model_id: str | None = None
    base_strategy: str | None = None
    candidate_strategy: str | None = None
    min_effect: float = 0.02
    max_cost_increase: float | None = None
    max_latency_increase: float | None = None
    is_trial: bool = False  # thresholds of its own, read only by the caller

    @property
    def comparison_id(self) -> str:
        """Hashes all its fields, in their order."""
        runs, thresholds = astuple(self)[:6], astuple(self)[6:]
        return content_id("comparison", *runs, *(None if value is None else repr(value) for value in thresholds))


def pair_of(base_run_id: str, candidate_run_id: str, card: AuditCard | None) -> Pair:
    """Pairs two runs under the thresholds of an audit's card; under the defaults without a card."""
    if card is None:
        return Pair(base_run_id=base_run_id, candidate_run_id=candidate_run_id)
    return Pair(
        base_run_id=base_run_id,
        candidate_run_id=candidate_run_id,
        min_effect=card.min_effect,
        max_cost_increase=card.max_cost_increase,
        max_latency_increase=card.max_latency_increase,
    )


def compare(
    warehouse: Warehouse, pairs: Iterable[Pair], holding: Callable[[], AbstractContextManager[None]] = nullcontext
) -> list[str]:
    """Derives and publishes the comparisons of these pairs that are not published yet; returns all ids, in order.

    `holding` holds the warehouse, and is entered only if something is to be derived. Published comparisons need only
    the copy, even while a night runs.

    Raises:
        UsageError: a run has no published marts, or a lake has no such comparison.
    """
    with warehouse.published.connect():  # kept open, since each opening reads the catalog
        wanted = {pair.comparison_id: pair for pair in pairs}
        _refuse_unpublished(warehouse, wanted.values())
        known = {run: _published(warehouse, run) for run in {pair.candidate_run_id for pair in wanted.values()}}
    new = [each for each, pair in wanted.items() if each not in known[pair.candidate_run_id]]
    lake = warehouse.published.lake
    if new and lake is not None:
        msg = f"the lake {lake} has no such comparison: compare these runs where the warehouse lies"
        raise UsageError(msg)
    if new:
        with holding():
            for each in new:
                warehouse.land([("comparisons", frame_of("comparisons", [_row(each, wanted[each])]))])
            derive(warehouse, new)
            publish(warehouse, compared=new)
    return list(wanted)


def compare_again(warehouse: Warehouse, audit_run_ids: Sequence[str]) -> list[str]:
    """Derives again every comparison that one of these runs takes part in, the oldest first; returns their ids."""
    rows = warehouse.read(
        "select comparison_id from raw.comparisons "
        "where list_has_any($runs, [base_run_id, candidate_run_id]) order by requested_at, comparison_id",
        runs=list(audit_run_ids),
    )
    ids = [row["comparison_id"] for row in rows]
    derive(warehouse, ids)
    return ids


def _published(warehouse: Warehouse, candidate_run_id: str) -> set[str]:
    # as they were sealed
    newest = newest_published(warehouse, candidate_run_id)
    return set() if newest is None else set(newest.entries["comparisons"])


def derive(warehouse: Warehouse, comparison_ids: Sequence[str], command: Command = "build") -> None:
    """Derives comparisons that have landed, AT_ONCE a build."""
    for start in range(0, len(comparison_ids), AT_ONCE):
        some = list(comparison_ids[start : start + AT_ONCE])
        rows = warehouse.read(
            "select distinct unnest([base_run_id, candidate_run_id]) as run from raw.comparisons "
            "where list_contains($ids, comparison_id)",
            ids=some,
        )
        transform(warehouse, [row["run"] for row in rows], "comparisons", some, command=command)


def _refuse_unpublished(warehouse: Warehouse, pairs: Iterable[Pair]) -> None:
    for run in {run for pair in pairs for run in (pair.base_run_id, pair.candidate_run_id)}:
        if not warehouse.published.read("select 1 from marts.rpt_audit where audit_run_id = $run limit 1", run=run):
            msg = f"run {run} has no published marts to compare; `promptaudit rebuild {run}` derives them"
            raise UsageError(msg)


def _row(comparison_id: str, pair: Pair) -> dict[str, object]:
    return {
        "audit_run_id": pair.candidate_run_id,
        "comparison_id": comparison_id,
        **asdict(pair),
        "requested_at": now(),
    }
