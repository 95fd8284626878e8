"""Checks a warehouse, its published copy and its Parquet files, or one report, against the chain of seals."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from promptaudit.evidence.verify.chain import (
    check_chain,
    check_copy,
    check_digests,
    find_seal,
    landed_since,
    resealed,
)
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.derive_again import check_again
from promptaudit.evidence.verify.differences import SealDifference
from promptaudit.evidence.verify.landed_rows import check_rows
from promptaudit.evidence.verify.marts import check_marts, check_view_files, check_views
from promptaudit.evidence.verify.unknown_tables import check_files, check_tables
from promptaudit.marts.seal import Seal, has_seals, marts, row_counts, seals
from promptaudit.registry.errors import WarehouseError
from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.run_names import one_run
from promptaudit.warehouse.sql import sql

Known = tuple[str, str | None, str | None]
"""Id, audit and state of a run; without audit and state of rows that no run opened."""
State = Literal["untouched", "erased", "retired", "differs", "unsealed", "running"]
OWN = "the warehouse"
IN_PARQUET = "the Parquet marts"
PLAIN = re.compile(r"[0-9A-Za-z_-]{1,100}")  # ids stand in SQL and in paths
ORDER_ONLY = (
    "without a copy of a seal kept elsewhere the chain proves order only: whoever can write the warehouse could make it anew "
    "(--seal holds it against the one that a report or a message printed)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeal:
    """A run with its newest seal and what became of it: how many rows were looked at, and whether any differs."""

    audit_run_id: str
    audit_id: str | None
    state: State
    seal: str | None
    n_rows: int = 0
    n_retired: int = 0
    n_erased: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What differs from the seals, the first thing first; `against` is the seal that somebody kept, where one was given."""

    runs: Sequence[RunSeal] = ()
    findings: Sequence[SealDifference]
    notes: Sequence[str]
    against: str | None = None
    is_reliable: bool = field(default=False, metadata=NOT_ENCODED)
    """Whether there are seals, and their chain holds: rows, marts and reports were held against them."""

    @encoded_property
    def exit_code(self) -> int:
        """Returns 1 where something differs, 3 where something could not be held against a seal, else 0."""
        if any(each.kind != "unsealed" for each in self.findings):
            return 1
        return 3 if self.findings or any(run.state == "unsealed" for run in self.runs) else 0


def verify(
    warehouse: Warehouse,
    audit_run_id: str | None = None,
    *,
    seal: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> VerifyResult:
    """Holds one run, or every run, against its seals: rows, marts, the published copy, Parquet files, the archive.

    Reports are held against what they print elsewhere, by `promptaudit.report.verify_file`.

    The warehouse is held by the caller. Without it the published copy alone is looked at.

    Raises:
        UsageError: no run is called so, or `seal` is no beginning of a seal.
        WarehouseError: there is neither a warehouse nor a published copy, or one cannot be read.
    """
    own, copy = warehouse.places.file, warehouse.published.path
    files = [(path, name) for path, name in ((own, OWN), (copy, "the published copy")) if path.is_file()]
    if not files:
        msg = f"{warehouse}: no such warehouse, and nothing is published beside it"
        raise WarehouseError(msg)
    notes, kept = [], None
    if len(files) < 2:  # noqa: PLR2004 - both
        notes.append(f"{copy if own.is_file() else own} is not there: {files[0][1]} alone was looked at")
    with ExitStack() as stack:
        opened = {name: stack.enter_context(Warehouse(path).inspect()) for path, name in files}
        places = _places(warehouse, opened, is_same=len(files) > 1 and _are_same(own, copy))
        differences = _without_seals(opened.keys() - {place.where for place in places}, places)
        if not places:
            return VerifyResult(findings=differences, notes=notes)
        chain = places[0].chain
        known = _runs(places[0])
        chosen = _chosen(known, audit_run_id)
        only = None if audit_run_id is None else chosen[0][0]
        differences += _check_chains(places, chosen)
        if seal is not None:
            kept, unknown = find_seal(chain, seal, only)
            differences += unknown
        if kept is not None:
            notes.append(_kept(chain, kept))
        against = None if kept is None else kept.seal
        if any(each.kind != "unsealed" for each in differences):
            notes.append("the chain of seals itself differs: rows and marts were not held against it")
            return VerifyResult(findings=differences, notes=notes, against=against)
        runs, of_contents = _check_contents(warehouse, places, known, chosen, say)
        differences += of_contents
    # the rest opens the files its own way
    if kept is None:
        notes.append(ORDER_ONLY)
        return VerifyResult(runs=runs, findings=differences, notes=notes, is_reliable=True)
    notes += _landed_after(chain, kept, only)
    since = _check_since(warehouse, chain, kept, only, say)
    changed = {each.audit_run_id for each in since if each.kind == "changed"}
    return VerifyResult(
        runs=[replace(run, state="differs") if run.audit_run_id in changed else run for run in runs],
        findings=since + differences,
        notes=notes,
        against=against,
        is_reliable=True,
    )


def _check_contents(
    warehouse: Warehouse, places: list[Place], known: list[Known], chosen: list[Known], say: Callable[[str], None]
) -> tuple[list[RunSeal], list[SealDifference]]:
    """Returns the chosen runs, and what differs of views, tables and files and of these runs' rows and marts."""
    states = {run: state for run, _, state in known if state}
    is_open = "running" in states.values()
    differences = [each for place in places for each in check_views(place, is_open=is_open)]
    differences += [each for place in places for each in check_tables(place)]
    folder = warehouse.places.published / "marts"
    differences += check_files(folder, places[0].chain, states, IN_PARQUET)
    if len(chosen) == 1:
        places = [replace(place, only=chosen[0][0]) for place in places]
    if folder.is_dir():
        differences += check_view_files(folder, places, IN_PARQUET)
        places.append(replace(places[-1], where=IN_PARQUET, folder=folder, is_same=False))
    runs = []
    for each in chosen:
        say(f"run {each[0]}")
        run, of_run = _verify_run(each, places)
        runs.append(run)
        differences += of_run
    return runs, differences


def _places(warehouse: Warehouse, opened: Mapping[str, Connection], *, is_same: bool) -> list[Place]:
    """Returns each file that has seals, the warehouse first; `is_same`: both are the same bytes."""
    return [
        Place(
            where=name,
            con=con,
            warehouse=warehouse,
            chain=seals(con),
            marts=marts(con),
            counts=row_counts(con),
            is_copy=name != OWN,
            is_same=name != OWN and is_same,
        )
        for name, con in opened.items()
        if has_seals(con)
    ]


def _check_since(
    warehouse: Warehouse, chain: list[Seal], kept: Seal, only: str | None, say: Callable[[str], None]
) -> list[SealDifference]:
    """Returns what later seals have otherwise than one that somebody kept, and what does not come out of its rows."""
    since = [each for each in resealed(chain, kept) if only is None or each.audit_run_id in (None, only)]
    if not since:
        return []
    say("deriving again what a later seal has otherwise")
    return check_again(warehouse, since, kept)


def _landed_after(chain: list[Seal], kept: Seal, only: str | None) -> list[str]:
    """Returns what later seals took in that figures are made of, a line a run and table."""
    return [
        f"after seal {kept.seal_index}, {n:,} rows of raw.{table} landed in run {run}"
        for run, landed in landed_since(chain, kept).items()
        if only in (None, run)
        for table, n in landed.items()
    ]


def _are_same(own: Path, copy: Path) -> bool:
    """Returns whether both files hold the same bytes and neither has a log that would change what is read."""
    logs = [path.with_name(path.name + ".wal") for path in (own, copy)]
    return not any(log.exists() for log in logs) and filecmp.cmp(own, copy, shallow=False)


def _without_seals(files: Collection[str], places: list[Place]) -> list[SealDifference]:
    """Returns files without the table: of a version that sealed nothing, unless another one has seals."""
    if any(place.chain for place in places):
        differs = partial(SealDifference, kind="gone", what="raw.seals", detail="its table")
    else:
        detail = "of a version that sealed nothing: the next publication does"
        differs = partial(SealDifference, kind="unsealed", what="warehouse", detail=detail)
    return [differs(where=where) for where in sorted(files)]


def _check_chains(places: list[Place], chosen: list[Known]) -> list[SealDifference]:
    """Returns what differs in what all else rests on: the chains, and ids that can stand in SQL and in paths."""
    differences = []
    for place in places:
        differences += check_chain(place.chain, place.where) or check_digests(place.con, place.chain, place.where)
    if not differences and len(places) > 1:
        differences += check_copy(places[0].chain, places[1].chain, places[1].where)
    differs = partial(SealDifference, kind="broken", where=places[0].where, detail="no id that a run could have")
    for run, *_ in chosen:
        if not PLAIN.fullmatch(run):
            tables = _tables_of(places[0].con, run) or ["run"]
            differences += [differs(what=table, which=run[:80]) for table in tables]
    return differences


def _verify_run(known: Known, places: list[Place]) -> tuple[RunSeal, list[SealDifference]]:
    run, audit_id, state = known
    own = places[0].seals_of(run)
    if not own:
        if state == "running":
            return RunSeal(audit_run_id=run, audit_id=audit_id, state="running", seal=None), []
        why = "no seal covers it: its next publication makes one" if state else "rows of a run that was never opened"
        without = SealDifference(
            kind="unsealed" if state else "added",
            where=places[0].where,
            what="run",
            which=run,
            detail=why,
            audit_run_id=run,
        )
        return RunSeal(audit_run_id=run, audit_id=audit_id, state="unsealed", seal=None), [without]
    differences: list[SealDifference] = []
    checks = []
    is_open = state == "running"
    for place in places:
        if not place.seals_of(run):  # published before it was sealed
            continue
        if place.is_same and not differences:  # what holds of the warehouse's bytes holds of these
            continue
        others = [other for other in places if other is not place]
        if place.folder is None:
            checks.append(check_rows(place, run, next((other for other in others if other.folder is None), None)))
            differences += checks[-1].differences
        differences += _marts_of(run, place, places, others, is_open=is_open)
    first = checks[0]
    outcome: State = "erased" if first.n_erased else "retired" if first.n_retired else "untouched"
    if any(each.kind != "unsealed" for each in differences):
        outcome = "differs"
    elif differences:
        outcome = "unsealed"
    run_seal = RunSeal(
        audit_run_id=run,
        audit_id=audit_id,
        state=outcome,
        seal=own[-1].seal,
        n_rows=first.n_rows,
        n_retired=first.n_retired,
        n_erased=first.n_erased,
    )
    return run_seal, differences


def _marts_of(
    run: str, place: Place, places: list[Place], others: list[Place], *, is_open: bool
) -> list[SealDifference]:
    """Returns what differs of a run's marts in one place; what an interrupted build or publication leaves is in no seal yet."""
    newest = place.seals_of(run)[-1]
    differences = check_marts(run, newest, place, others)
    if not differences:
        return []
    unsealed = partial(SealDifference, kind="unsealed", where=place.where, what="marts", which=run, audit_run_id=run)
    if place.folder is not None:
        newer = {each.what for each in check_marts(run, places[0].seals_of(run)[-1], place, others)}
        differing = [each for each in differences if each.what in newer]
        if len(differing) < len(differences):
            detail = "newer than the published copy: its publication was cut short, the next one ends it"
            differing.append(unsealed(detail=detail))
        return differing
    was_closed_again = newest.entries["derived_at"] not in (None, newest.entries["finished_at"])
    if was_closed_again or (is_open and not place.is_copy):
        detail = "being derived again: `promptaudit run` finishes it"
        return [unsealed(detail=detail)]
    return differences


def _runs(place: Place) -> list[Known]:
    """Returns run, audit and state of what there is to verify, oldest first; rows of nights that had no run are such too."""
    rows = place.con.execute(sql("evidence", "known_runs")).fetchall()
    known = {row[0] for row in rows}
    there = place.counts.keys() | {
        run
        for mart, of_run in place.marts.items()
        for (run,) in place.con.execute(f'select distinct {of_run} from marts."{mart}"').fetchall()  # noqa: S608 - a mart's own name
    }
    return rows + [(run, None, None) for run in sorted(there - known)]


def _chosen(runs: list[Known], audit_run_id: str | None) -> list[Known]:
    """Returns all of the runs, or the one whose id begins so; raises UsageError where none or several do."""
    if audit_run_id is None:
        return runs
    chosen = one_run([row[0] for row in runs], audit_run_id, kind="run")
    return [row for row in runs if row[0] == chosen]


def _tables_of(con: Connection, run: str) -> list[str]:
    """Returns the tables that have rows of a run, whatever it is called."""
    of_raw = [f"raw.{table}" for table in row_counts(con).get(run, ())]
    of_marts = [
        f"marts.{mart}"
        for mart, of_run in marts(con).items()
        if con.execute(f'select 1 from marts."{mart}" where {of_run} = ? limit 1', [run]).fetchone()  # noqa: S608 - a mart's own name
    ]
    return of_raw + of_marts


def _kept(chain: list[Seal], kept: Seal) -> str:
    """Returns a line on the seal that somebody kept, and how many of its run came after it."""
    later = sum(each.audit_run_id == kept.audit_run_id and each.seal_index > kept.seal_index for each in chain)
    after = f", and {later} later ones of it follow" if later else ""
    at = f"{kept.sealed_at:%Y-%m-%d %H:%M} UTC"
    return f"seal {kept.seal[:12]} is run {kept.audit_run_id}'s of {at} ({kept.reason}){after}"
