"""Checks a warehouse, its published copy and its Parquet files, or one report, against the chain of seals."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from flows.evidence.verify.chain import check_chain, check_copy, check_digests, find_seal, landed_since, resealed
from flows.evidence.verify.copies import Place
from flows.evidence.verify.derive_again import check_again
from flows.evidence.verify.findings import Finding
from flows.evidence.verify.landed_rows import check_rows
from flows.evidence.verify.marts import check_marts, check_views
from flows.evidence.verify.unknown_tables import check_files, check_tables
from flows.marts.seal import Seal, has_seals, marts, row_counts, seals
from flows.warehouse import Warehouse
from flows.warehouse.duckdb_file import Connection
from flows.warehouse.run_names import one_run
from flows.warehouse.sql import sql
from models_registry.errors import WarehouseError

State = Literal["untouched", "erased", "retired", "differs", "unsealed", "running"]
OWN = "the warehouse"
PLAIN = re.compile(r"[0-9A-Za-z_-]{1,100}")  # ids stand in SQL and in paths
ORDER_ONLY = (
    "without a copy of a seal kept elsewhere the chain proves order only: whoever can write the warehouse could make it anew "
    "(--seal holds it against the one that a report or a message printed)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerified:
    """What became of one run: its newest seal, what was held against it, and what differs."""

    audit_run_id: str
    audit_id: str | None
    state: State
    seal: str | None
    n_rows: int = 0
    n_retired: int = 0
    n_erased: int = 0


@dataclass(slots=True)
class Verified:
    """What `verify` found; `exit_code` is 1 where something differs, 3 where something could not be held against a seal."""

    runs: list[RunVerified] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    against: str | None = None
    is_reliable: bool = False
    """Whether there are seals, and their chain holds: rows, marts and reports were held against them."""

    @property
    def exit_code(self) -> int:
        """0, 1 or 3, as of the gate."""
        if any(found.kind != "unsealed" for found in self.findings):
            return 1
        return 3 if self.findings or any(run.state == "unsealed" for run in self.runs) else 0

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "exit_code": self.exit_code,
            "runs": [{name: getattr(run, name) for name in RunVerified.__slots__} for run in self.runs],
            "findings": [found.as_dict() for found in self.findings],
            "against": self.against,
            "notes": self.notes,
        }

    def lines(self) -> list[str]:
        """For people: the first thing that differs stands first."""
        said = [found.line() for found in self.findings]
        for run in self.runs:
            rows = f"{run.n_rows:,} rows"
            of = ", ".join(
                [
                    rows,
                    *([f"{run.n_retired:,} of them retired"] if run.n_retired else []),
                    *([f"{run.n_erased:,} erased"] if run.n_erased else []),
                ]
            )
            seal = "no seal" if run.seal is None else f"seal {run.seal[:12]}"
            said.append(f"{run.state}: run {run.audit_run_id} of '{run.audit_id}', {of}, {seal}")
        return said + self.notes


def verify(
    warehouse: Warehouse,
    audit_run_id: str | None = None,
    *,
    seal: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Verified:
    """Holds one run, or every run, against its seals: rows, marts, the published copy, Parquet files, the archive.

    Reports are held against what they print elsewhere, by `flows.report.verify_file`.

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
    done = Verified()
    if len(files) < 2:  # noqa: PLR2004 - both
        done.notes.append(f"{copy if own.is_file() else own} is not there: {files[0][1]} alone was looked at")
    with ExitStack() as stack:
        opened = {name: stack.enter_context(Warehouse(path).inspect()) for path, name in files}
        places = _places(warehouse, opened, is_same=len(files) > 1 and _are_same(own, copy))
        done.findings += _without_seals(opened.keys() - {place.where for place in places}, places)
        if not places:
            return done
        chain = places[0].chain
        runs = _runs(places[0])
        chosen = _chosen(runs, audit_run_id)
        _check_chains(done, places, chosen)
        only = None if audit_run_id is None else chosen[0][0]
        kept = None if seal is None else _hold_against(done, chain, seal, only)
        if any(each.kind != "unsealed" for each in done.findings):
            done.notes.append("the chain of seals itself differs: rows and marts were not held against it")
            return done
        done.is_reliable = True
        known = {run: state for run, _, state in runs if state}
        is_open = "running" in known.values()
        done.findings += [found for place in places for found in check_views(place, is_open=is_open)]
        done.findings += [found for place in places for found in check_tables(place)]
        published = warehouse.places.published
        done.findings += check_files(published / "marts", chain, known, "the Parquet marts")
        if len(chosen) == 1:
            places = [replace(place, only=chosen[0][0]) for place in places]
        if (files_of_marts := published / "marts").is_dir():
            places.append(replace(places[-1], where="the Parquet marts", folder=files_of_marts, is_same=False))
        for run, audit_id, state in chosen:
            say(f"run {run}")
            done.runs.append(_verify_run(done.findings, (run, audit_id, state), places))
    # the rest opens the files its own way
    if kept is not None:
        _check_since(done, warehouse, chain, kept, only, say)
    if done.against is None:
        done.notes.append(ORDER_ONLY)
    return done


def _places(warehouse: Warehouse, opened: Mapping[str, Connection], *, is_same: bool) -> list[Place]:
    """Each file that has seals, the warehouse first; `is_same`: both are the same bytes."""
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


def _check_since(  # noqa: PLR0913 - what came after which seal, of which run
    done: Verified, warehouse: Warehouse, chain: list[Seal], kept: Seal, only: str | None, say: Callable[[str], None]
) -> None:
    """What later seals have otherwise than one that somebody kept, and what they took in that figures are made of."""
    done.notes += _landed_after(chain, kept, only)
    since = [each for each in resealed(chain, kept) if only is None or each.audit_run_id in (None, only)]
    if since:
        say("deriving again what a later seal has otherwise")
        since = check_again(warehouse, since, kept)
    differs = {found.audit_run_id for found in since if found.kind == "changed"}
    done.findings = since + done.findings
    done.runs = [replace(run, state="differs") if run.audit_run_id in differs else run for run in done.runs]


def _landed_after(chain: list[Seal], kept: Seal, only: str | None) -> list[str]:
    """What later seals took in that figures are made of."""
    return [
        f"after seal {kept.seal_index}, {n:,} rows of raw.{table} landed in run {run}"
        for run, landed in landed_since(chain, kept).items()
        if only in (None, run)
        for table, n in landed.items()
    ]


def _are_same(own: Path, copy: Path) -> bool:
    """Whether both files hold the same bytes and neither has a log that would change what is read."""
    logs = [path.with_name(path.name + ".wal") for path in (own, copy)]
    return not any(log.exists() for log in logs) and filecmp.cmp(own, copy, shallow=False)


def _without_seals(files: Collection[str], places: list[Place]) -> list[Finding]:
    """Files without the table: of a version that sealed nothing, unless another one has seals."""
    if any(place.chain for place in places):
        return [Finding("gone", where, "raw.seals", "", "its table") for where in sorted(files)]
    detail = "of a version that sealed nothing: the next publication does"
    return [Finding("unsealed", where, "warehouse", "", detail) for where in sorted(files)]


def _check_chains(done: Verified, places: list[Place], chosen: list[tuple[str, str | None, str | None]]) -> None:
    """What all else rests on: the chains, and ids that can stand in SQL and in paths."""
    for place in places:
        done.findings += check_chain(place.chain, place.where) or check_digests(place.con, place.chain, place.where)
    if not done.findings and len(places) > 1:
        done.findings += check_copy(places[0].chain, places[1].chain, places[1].where)
    for run, *_ in chosen:
        if not PLAIN.fullmatch(run):
            for table in _tables_of(places[0].con, run) or ["run"]:
                done.findings.append(Finding("broken", places[0].where, table, run[:80], "no id that a run could have"))


def _verify_run(findings: list[Finding], who: tuple[str, str | None, str | None], places: list[Place]) -> RunVerified:
    run, audit_id, state = who
    own = places[0].seals_of(run)
    if not own:
        if state == "running":
            return RunVerified(audit_run_id=run, audit_id=audit_id, state="running", seal=None)
        why = "no seal covers it: its next publication makes one" if state else "rows of a run that was never opened"
        findings.append(Finding("unsealed" if state else "added", places[0].where, "run", run, why, run))
        return RunVerified(audit_run_id=run, audit_id=audit_id, state="unsealed", seal=None)
    found: list[Finding] = []
    looks = []
    is_open = state == "running"
    for place in places:
        if not place.seals_of(run):  # published before it was sealed
            continue
        if place.is_same and not found:  # what holds of the warehouse's bytes holds of these
            continue
        others = [other for other in places if other is not place]
        if place.folder is None:
            looks.append(check_rows(place, run, next((other for other in others if other.folder is None), None)))
            found += looks[-1].findings
        found += _marts_of(run, place, places, others, is_open=is_open)
    findings += found
    first = looks[0]
    verdict: State = "erased" if first.n_erased else "retired" if first.n_retired else "untouched"
    if any(each.kind != "unsealed" for each in found):
        verdict = "differs"
    elif found:
        verdict = "unsealed"
    return RunVerified(
        audit_run_id=run,
        audit_id=audit_id,
        state=verdict,
        seal=own[-1].seal,
        n_rows=first.n_rows,
        n_retired=first.n_retired,
        n_erased=first.n_erased,
    )


def _marts_of(run: str, place: Place, places: list[Place], others: list[Place], *, is_open: bool) -> list[Finding]:
    """What differs of a run's marts in one place; what an interrupted derivation or publication leaves is in no seal yet."""
    newest = place.seals_of(run)[-1]
    found = check_marts(run, newest, place, others)
    if not found:
        return []
    if place.folder is not None:
        newer = {each.what for each in check_marts(run, places[0].seals_of(run)[-1], place, others)}
        differing = [each for each in found if each.what in newer]
        if len(differing) < len(found):
            detail = "newer than the published copy: its publication was cut short, the next one ends it"
            differing.append(Finding("unsealed", place.where, "marts", run, detail, run))
        return differing
    was_closed_again = newest.held["derived_at"] not in (None, newest.held["finished_at"])
    if was_closed_again or (is_open and not place.is_copy):
        detail = "being derived again: `promptaudit run` finishes it"
        return [Finding("unsealed", place.where, "marts", run, detail, run)]
    return found


def _runs(place: Place) -> list[tuple[str, str | None, str | None]]:
    """Run, audit and state of what there is to verify, oldest first; rows of nights that had no run are such too."""
    rows = place.con.execute(sql("evidence", "known_runs")).fetchall()
    known = {row[0] for row in rows}
    there = place.counts.keys() | {
        run
        for mart, of_run in place.marts.items()
        for (run,) in place.con.execute(f'select distinct {of_run} from marts."{mart}"').fetchall()  # noqa: S608 - a mart's own name
    }
    return rows + [(run, None, None) for run in sorted(there - known)]


def _chosen(
    runs: list[tuple[str, str | None, str | None]], audit_run_id: str | None
) -> list[tuple[str, str | None, str | None]]:
    """All of the runs, or the one whose id begins so; raises UsageError where none or several do."""
    if audit_run_id is None:
        return runs
    chosen = one_run([row[0] for row in runs], audit_run_id, kind="run")
    return [row for row in runs if row[0] == chosen]


def _tables_of(con: Connection, run: str) -> list[str]:
    """The tables that have rows of a run, whatever it is called."""
    of_raw = [f"raw.{table}" for table in row_counts(con).get(run, ())]
    of_marts = [
        f"marts.{mart}"
        for mart, of_run in marts(con).items()
        if con.execute(f'select 1 from marts."{mart}" where {of_run} = ? limit 1', [run]).fetchone()  # noqa: S608 - a mart's own name
    ]
    return of_raw + of_marts


def _hold_against(done: Verified, chain: list[Seal], seal: str, audit_run_id: str | None) -> Seal | None:
    """Returns the seal of the chain that somebody kept, and says what came after it."""
    found, wrong = find_seal(chain, seal, audit_run_id)
    done.findings += wrong
    if found is None:
        return None
    done.against = found.seal
    later = sum(each.audit_run_id == found.audit_run_id and each.seal_index > found.seal_index for each in chain)
    after = f", and {later} later ones of it follow" if later else ""
    at = f"{found.sealed_at:%Y-%m-%d %H:%M} UTC"
    done.notes.append(f"seal {found.seal[:12]} is run {found.audit_run_id}'s of {at} ({found.reason}){after}")
    return found
