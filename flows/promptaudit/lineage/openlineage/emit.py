"""Sends what a run does as OpenLineage events to a lineage tool. The steps call it, and it fails none of them.

Events go to `<warehouse folder>/lineage/<audit_run_id>.jsonl` and to a receiver where one is set (`transport`), if
PROMPTAUDIT_LINEAGE or a receiver asks for them. Without the extra `lineage` the run says so and goes on. OpenLineage is
imported at the first event.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse

if TYPE_CHECKING:
    from promptaudit.lineage.openlineage.run_events import FollowedRun

T = TypeVar("T")
FOLDER = "lineage"
RECEIVER = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
"""Variables of the environment, each of which sets a receiver."""
_current: list[FollowedRun] = []


def is_on() -> bool:
    """Checks whether events are sent: they are asked for and OpenLineage is installed."""
    return _is_asked_for() and is_installed("lineage")


def _is_asked_for() -> bool:
    setting = Settings().lineage
    return any(map(os.environ.get, RECEIVER)) if setting is None else setting


@contextlib.contextmanager
def following(warehouse: Warehouse, audit_run_id: str, say: Callable[[str], None]) -> Iterator[None]:
    """Sends the start of a run, and its end: complete, failed or interrupted."""
    with _follow(warehouse, [audit_run_id], say) as run:
        if run is None:
            yield
            return
        from promptaudit.lineage.openlineage import run_events

        _current.append(run)
        _try(say, lambda: run.sender.send(run_events.of_run(run, "START")))
        try:
            yield
        except BaseException as error:
            kind, state = type(error).__name__, "FAIL" if isinstance(error, Exception) else "ABORT"
            if not run.landed:
                _try(say, lambda: run.sender.send(run_events.landing(run, state)))
            _try(say, lambda: run.sender.send(run_events.of_run(run, state, kind)))
            raise
        else:
            _try(say, lambda: run.sender.send(run_events.of_run(run, "COMPLETE")))
        finally:
            _current.remove(run)


def landed(warehouse: Warehouse, audit_run_id: str) -> None:
    """Sends what of a run has landed since the last call: answers first, then checks and rulings."""
    with _follow(warehouse, [audit_run_id]) as run:
        if run is not None:
            from promptaudit.lineage.openlineage import run_events

            _try(_warn, lambda: run.sender.send(run_events.later(run) if run.landed else run_events.landing(run)))


def built(
    warehouse: Warehouse,
    audit_run_ids: Sequence[str],
    comparison_ids: Sequence[str] = (),
    laid_out: Mapping[str, str] | None = None,
) -> None:
    """Sends every model that dbt's last build made or failed to make, and those laid out empty by this SQL."""
    results = warehouse.places.dbt / "target" / "run_results.json"
    if not results.exists():  # it never came to building
        return
    with _follow(warehouse, audit_run_ids, comparison_ids=comparison_ids) as run:
        if run is not None:
            from promptaudit.lineage.openlineage import run_events

            _try(_warn, lambda: run.sender.send(run_events.built(run, results, laid_out or {})))


def published(warehouse: Warehouse, audit_run_ids: Collection[str]) -> None:
    """Sends the published copy and the Parquet files of these runs' marts. Without a run it sends nothing."""
    if not audit_run_ids:
        return
    with _follow(warehouse, audit_run_ids) as run:
        if run is not None:
            from promptaudit.lineage.openlineage import run_events

            _try(_warn, lambda: run.sender.send(run_events.published(run, audit_run_ids)))


@contextlib.contextmanager
def _follow(
    warehouse: Warehouse,
    audit_run_ids: Collection[str],
    say: Callable[[str], None] | None = None,
    comparison_ids: Sequence[str] = (),
) -> Iterator[FollowedRun | None]:
    # the run that is followed now, or one for this block; None where lineage is off or cannot be sent
    warn = say or _warn
    if say is not None and _is_asked_for() and not is_on():
        say(needs_extra("lineage", "lineage"))
    run = _try(warn, lambda: _open(warehouse, audit_run_ids, comparison_ids, warn)) if is_on() else None
    try:
        yield run
    finally:
        if run is not None and run not in _current:
            _try(warn, run.sender.close)


def _open(
    warehouse: Warehouse, audit_run_ids: Collection[str], comparison_ids: Collection[str], say: Callable[[str], None]
) -> FollowedRun:
    runs = list(audit_run_ids)
    if comparison_ids:  # a comparison is its candidate's
        query = "select distinct audit_run_id from raw.comparisons where list_contains($ids, comparison_id)"
        runs = [row["audit_run_id"] for row in warehouse.read(query, ids=list(comparison_ids))]
    from promptaudit.lineage.openlineage.run_events import SEVERAL, FollowedRun
    from promptaudit.lineage.openlineage.transport import Sender

    run_id = runs[0] if len(runs) == 1 else SEVERAL
    for run in _current:
        if (run.warehouse, run.audit_run_id) == (warehouse, run_id):
            return run
    rows = warehouse.read("select audit_id from raw.audit_runs where audit_run_id = $run", run=run_id)
    sender = Sender(warehouse.path.parent / FOLDER / f"{run_id}.jsonl", say)
    return FollowedRun(
        warehouse=warehouse, audit_run_id=run_id, audit_id=rows[0]["audit_id"] if rows else SEVERAL, sender=sender
    )


def _try(say: Callable[[str], None], work: Callable[[], T]) -> T | None:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever sending runs into, the audit goes on
        say(f"lineage: {type(error).__name__}; the audit goes on without it")
        return None


def _warn(text: str) -> None:
    from promptaudit.system.display.progress import Progress

    Progress().warn(text)
