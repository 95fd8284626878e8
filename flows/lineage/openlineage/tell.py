"""Tells a lineage tool what a run does, as OpenLineage events; the steps call it, and it fails none of them.

Events go to `<warehouse folder>/lineage/<audit_run_id>.jsonl` and to a receiver where one is set (`transport`).
PROMPTAUDIT_LINEAGE=off turns it off. OpenLineage is imported at the first event.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from flows.settings import Settings
from flows.warehouse import Warehouse

if TYPE_CHECKING:
    from flows.lineage.openlineage.run_events import Told

T = TypeVar("T")
FOLDER = "lineage"
_current: list[Told] = []


@contextlib.contextmanager
def following(warehouse: Warehouse, audit_run_id: str, say: Callable[[str], None]) -> Iterator[None]:
    """Tells of a run while it is executed: that it starts, and that it is complete, failed or was interrupted."""
    with _telling(warehouse, [audit_run_id], say) as told:
        if told is None:
            yield
            return
        from flows.lineage.openlineage import run_events

        _current.append(told)
        _try(say, lambda: told.sender.send(run_events.of_run(told, "START")))
        try:
            yield
        except BaseException as error:
            kind, state = type(error).__name__, "FAIL" if isinstance(error, Exception) else "ABORT"
            if not told.landed:
                _try(say, lambda: told.sender.send(run_events.landing(told, state)))
            _try(say, lambda: told.sender.send(run_events.of_run(told, state, kind)))
            raise
        else:
            _try(say, lambda: told.sender.send(run_events.of_run(told, "COMPLETE")))
        finally:
            _current.remove(told)


def landed(warehouse: Warehouse, audit_run_id: str) -> None:
    """Tells what of a run has landed since the last call: answers first, then what checks and judges said."""
    with _telling(warehouse, [audit_run_id]) as told:
        if told is not None:
            from flows.lineage.openlineage import run_events

            _try(_warn, lambda: told.sender.send(run_events.later(told) if told.landed else run_events.landing(told)))


def built(warehouse: Warehouse, audit_run_ids: Sequence[str], comparison_ids: Sequence[str] = ()) -> None:
    """Tells of every model that dbt's last build made, or failed to make."""
    results = warehouse.places.dbt / "target" / "run_results.json"
    if not results.exists():  # it never came to building
        return
    with _telling(warehouse, audit_run_ids, comparison_ids=comparison_ids) as told:
        if told is not None:
            from flows.lineage.openlineage import run_events

            _try(_warn, lambda: told.sender.send(run_events.built(told, results)))


def published(warehouse: Warehouse, audit_run_ids: Collection[str]) -> None:
    """Tells of the published copy and of the Parquet files of these runs' marts; of no run nothing is new."""
    if not audit_run_ids:
        return
    with _telling(warehouse, audit_run_ids) as told:
        if told is not None:
            from flows.lineage.openlineage import run_events

            _try(_warn, lambda: told.sender.send(run_events.published(told, audit_run_ids)))


@contextlib.contextmanager
def _telling(
    warehouse: Warehouse,
    audit_run_ids: Collection[str],
    say: Callable[[str], None] | None = None,
    comparison_ids: Sequence[str] = (),
) -> Iterator[Told | None]:
    """The run that is followed now, or one for as long as the block lasts; None where lineage is off or cannot be told."""
    warn = say or _warn
    told = _try(warn, lambda: _open(warehouse, audit_run_ids, comparison_ids, warn)) if Settings().lineage else None
    try:
        yield told
    finally:
        if told is not None and told not in _current:
            _try(warn, told.sender.close)


def _open(
    warehouse: Warehouse, audit_run_ids: Collection[str], comparison_ids: Collection[str], say: Callable[[str], None]
) -> Told:
    runs = list(audit_run_ids)
    if comparison_ids:  # a comparison is its candidate's
        query = "select distinct audit_run_id from raw.comparisons where list_contains($ids, comparison_id)"
        runs = [row["audit_run_id"] for row in warehouse.read(query, ids=list(comparison_ids))]
    from flows.lineage.openlineage.run_events import SEVERAL, Told
    from flows.lineage.openlineage.transport import Sender

    run = runs[0] if len(runs) == 1 else SEVERAL
    for told in _current:
        if (told.warehouse, told.run) == (warehouse, run):
            return told
    rows = warehouse.read("select audit_id from raw.audit_runs where audit_run_id = $run", run=run)
    sender = Sender(warehouse.path.parent / FOLDER / f"{run}.jsonl", say)
    return Told(warehouse=warehouse, run=run, audit_id=rows[0]["audit_id"] if rows else SEVERAL, sender=sender)


def _try(say: Callable[[str], None], work: Callable[[], T]) -> T | None:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever telling runs into, the audit goes on
        say(f"lineage: {type(error).__name__}; the audit goes on without it")
        return None


def _warn(text: str) -> None:
    from flows.display.progress import Progress

    Progress().warn(text)
