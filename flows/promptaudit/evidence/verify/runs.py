"""Checks a warehouse, its published copy and its Parquet files against the chain of seals."""

from __future__ import annotations

import filecmp
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from promptaudit.evidence.verify.chain import (
    NOBODY,
    check_chain,
    check_copy,
    check_signed,
    find_seal,
    landed_since,
    resealed,
)
from promptaudit.evidence.verify.checks import Check, Finding, few, walk
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.derive_again import check_again
from promptaudit.evidence.verify.landed_rows import row_checks
from promptaudit.evidence.verify.marts import column_checks, file_checks, mart_checks, view_checks
from promptaudit.evidence.verify.restore import COPY, IN_PARQUET, OWN, restoring
from promptaudit.marts.digests import has_rows
from promptaudit.marts.publication import Publication, cut_short
from promptaudit.marts.seal import Seal, has_seals, marts, row_counts, schema_versions, seals
from promptaudit.marts.signature import read_signers
from promptaudit.registry.errors import PromptauditError, WarehouseError, WarehouseLocked
from promptaudit.system.display.encode import encoded_property
from promptaudit.system.display.figures import shown
from promptaudit.udfs.retired import RETIRED_RUNS
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.blocks import damaged_blocks, read_all
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.run_names import one_run
from promptaudit.warehouse.sql import sql

Known = tuple[str, str | None, str | None]
"""Id, audit and state of a run. Audit and state are None if rows name a run that was never opened."""
State = Literal["untouched", "erased", "retired", "differs", "unsealed", "running"]
PLAIN = re.compile(r"[0-9A-Za-z_-]{1,100}")  # ids stand in SQL and in paths
ORDER_ONLY = (
    "without a copy of a seal kept elsewhere the chain proves order only: whoever can write the warehouse could make it anew "
    "(--seal holds it against the one that a report or a message printed, --signers against the keys of people)"
)
SIGNED = "each seal is signed by somebody of --signers, or followed by one that is"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeal:
    """A run with its newest seal, what became of it, and how many rows were sealed, retired and erased."""

    audit_run_id: str
    audit_id: str | None
    state: State
    seal: str | None
    n_rows: int = 0
    n_retired: int = 0
    n_erased: int = 0

    @property
    def line(self) -> str:
        """Writes it in one line."""
        rows = f"{self.n_rows:,} rows"
        rows += f", {self.n_retired:,} of them retired" if self.n_retired else ""
        rows += f", {self.n_erased:,} erased" if self.n_erased else ""
        seal = "no seal" if self.seal is None else f"seal {self.seal[:12]}"
        return f"{self.state}: run {self.audit_run_id} of '{self.audit_id}', {rows}, {seal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """Everything that differs from the seals. `against` is the seal that somebody kept, if one was given.

    `restore` says what is sound, and for each damaged place the command that restores it.

    Findings come in this order: since the kept seal, the chain, unreadable files, contents, further checks.
    """

    runs: Sequence[RunSeal] = ()
    findings: Sequence[Finding]
    notes: Sequence[str]
    against: str | None = None
    restore: Sequence[str] = ()

    @encoded_property
    def exit_code(self) -> int:
        """Gives 1 if something differs, 3 if something could not be compared with a seal, else 0."""
        if any(each.kind != "unsealed" for each in self.findings):
            return 1
        return 3 if self.findings or any(run.state == "unsealed" for run in self.runs) else 0

    def lines(self) -> list[str]:
        """Lists findings, runs and notes, a line each."""
        findings, runs = (each.line for each in self.findings), (each.line for each in self.runs)
        return [*findings, *runs, *self.notes, *map(shown, self.restore)]


def verify(
    warehouse: Warehouse,
    audit_run_id: str | None = None,
    *,
    seal: str | None = None,
    signers: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    more: Callable[[Warehouse, str | None, bool], Iterable[Check]] = lambda *_: (),
) -> VerifyResult:
    """Checks one run, or every run, against its seals: rows, marts, the published copy, Parquet files, the archive.

    `signers` is a file with the keys of people who may sign seals: each seal must be signed by one of them, or be
    followed by one that is. `more` gives further checks of a warehouse and the run that was asked for, and learns
    whether the published copy alone can be read. `promptaudit.report.verify_file` has checks of the reports beside the
    copy. The caller holds the warehouse; if it is not there, the published copy alone is checked.

    Raises:
        UsageError: no run has this name, or `seal` is no beginning of a seal.
        WarehouseError: there is neither a warehouse nor a published copy, or none of them can be read.
    """
    own, copy = warehouse.places.file, warehouse.published.path
    files = [(path, name) for path, name in ((own, OWN), (copy, COPY)) if path.is_file()]
    if not files:
        msg = f"{warehouse}: no such warehouse, and nothing is published beside it; if it is lost, put a backup in its place"
        raise WarehouseError(msg)
    allowed = None if signers is None else read_signers(signers)
    notes, kept = [], None
    if len(files) < 2:  # noqa: PLR2004 - both
        notes.append(f"{copy if own.is_file() else own} is not there: {files[0][1]} alone was looked at")
    with ExitStack() as stack:
        is_same = len(files) > 1 and _are_same(own, copy)
        places, of_chains, unread = _places(stack, warehouse, files, is_same=is_same)
        if not places:
            unsigned = [] if allowed is None else [Finding(kind="broken", where=OWN, what="seals", detail=NOBODY)]
            restore = restoring(warehouse, of_chains + unread)
            return VerifyResult(findings=unsigned + of_chains + unread, notes=notes, restore=restore)
        chain = places[0].chain
        tables = tables_of_runs(places[0].con)
        known = places[0].con.execute(sql("evidence", "known_runs")).fetchall()
        known += [(run, None, None) for run in sorted(tables.keys() - {row[0] for row in known})]
        only = None if audit_run_id is None else one_run([row[0] for row in known], audit_run_id, kind="run")
        chosen = [row for row in known if only in (None, row[0])]
        of_chains += _check_chains(places, {run: tables.get(run) or ["run"] for run, *_ in chosen})
        if seal is not None:
            kept, unknown = find_seal(chain, seal, only)
            of_chains += unknown
        if kept is not None:
            notes.append(_kept(chain, kept))
        against = None if kept is None else kept.seal
        if any(each.kind != "unsealed" for each in of_chains):
            notes.append("the chain of seals itself differs: rows and marts were not held against it")
            found = of_chains + unread
            return VerifyResult(findings=found, notes=notes, against=against, restore=restoring(warehouse, found))
        unsigned, proof = _check_signed(places, allowed)
        runs, of_contents = _check_contents(warehouse, places, known, chosen, say)
        is_copy, retired = places[0].where != OWN, _retired(places[0])
        open_ = [] if is_copy else _cut_short(places)
    # what follows opens the files itself
    since: list[Finding] = []
    if kept is None or proof != ORDER_ONLY:
        notes.append(proof)
    if kept is not None:
        notes += _landed_after(chain, kept, only)
        since = [each for each in resealed(chain, kept) if only is None or each.audit_run_id in (None, only)]
    if kept is not None and since:
        say("deriving again what a later seal has otherwise")
        since = check_again(warehouse, since, kept)
    changed = {each.audit_run_id for each in [*since, *filter(_is_of_file, of_contents)] if each.kind == "changed"}
    of_pages = Check(where="the reports", what="pages", explain=lambda _: more(warehouse, only, is_copy))
    of_pages_found = [
        each
        for each in walk([of_pages])
        if each.kind != "unsealed" or not any(each.audit_run_id in of.due.runs for of in open_)
    ]
    of_all = [_softened(each, open_) for each in [*since, *of_chains, *unread, *of_contents, *of_pages_found]]
    differs = {each.audit_run_id for each in of_all if each.kind != "unsealed"}
    return VerifyResult(
        runs=[_with_state(run, changed, differs) for run in runs],
        findings=few([*map(_of_publication, open_), *unsigned, *of_all]),
        notes=notes,
        against=against,
        restore=() if unsigned else restoring(warehouse, of_all, retired),  # nothing is sound that nobody signed
    )


def _retired(place: Place) -> list[str]:
    # none where the rows cannot be read, which is a finding of that place
    with suppress(Exception):
        return [run for (run,) in place.con.execute(RETIRED_RUNS).fetchall()]
    return []


def _is_of_file(finding: Finding) -> bool:
    return finding.where == IN_PARQUET


def _with_state(run: RunSeal, changed: Collection[str | None], differs: Collection[str | None]) -> RunSeal:
    if run.audit_run_id in changed:
        return replace(run, state="differs")
    is_unsealed = run.state == "differs" and run.audit_run_id not in differs
    return replace(run, state="unsealed") if is_unsealed else run


def _cut_short(places: list[Place]) -> list[Publication]:
    copy = next((place.con for place in places if place.is_copy), None)
    return cut_short(places[0].con, copy)


def _of_publication(found: Publication) -> Finding:
    what = "erasure" if found.due.sample else "publication"
    at = f"of {found.begun_at:%Y-%m-%d %H:%M} UTC"
    detail = f"it was interrupted; `{found.command}` completes it"
    run = found.audit_run_id or None
    return Finding(kind="unsealed", where=OWN, what=what, which=at, detail=detail, audit_run_id=run)


def _softened(finding: Finding, open_: Collection[Publication]) -> Finding:
    # pages whose hash has not landed yet, and what an erasure has emptied or deleted and not sealed yet
    for each in open_:
        is_emptied = bool(each.due.sample) and finding.is_blank
        if finding.audit_run_id in each.due.runs and (is_emptied or finding.what == "page"):
            return replace(finding, kind="unsealed")
    return finding


def _check_contents(
    warehouse: Warehouse, places: list[Place], known: list[Known], chosen: list[Known], say: Callable[[str], None]
) -> tuple[list[RunSeal], list[Finding]]:
    states = {run: state for run, _, state in known if state}
    folder, is_open = warehouse.places.marts, "running" in states.values()
    if len(chosen) == 1:
        places = [replace(place, only=chosen[0][0]) for place in places]
    checks = [
        Check(where=place.where, what="views", explain=partial(view_checks, place=place, is_open=is_open))
        for place in places
    ]
    checks += [
        Check(
            where=place.where,
            what="raw.schema_versions",
            recorded=[versions],
            read=partial(_versions, place, len(versions)),
        )
        for place in places
        if place.chain and (versions := place.chain[-1].entries["schema_versions"])  # older seals have none
    ]
    sealed = {seal.audit_run_id for place in places for seal in place.chain}
    of_files = partial(file_checks, folder=folder, runs=sealed, places=places, only=places[0].only)
    checks += [Check(where=IN_PARQUET, what="files", explain=of_files)]
    if folder.is_dir():
        places = [*places, replace(places[-1], where=IN_PARQUET, folder=folder, is_same=False)]
    checks += [
        Check(where=place.where, what="columns", explain=partial(column_checks, place=place, is_open=is_open))
        for place in places
    ]
    findings = list(walk(checks))
    runs = []
    for each in chosen:
        say(f"run {each[0]}")
        run, of_run = _verify_run(each, places)
        runs.append(run)
        findings += of_run
    return runs, findings


def _versions(place: Place, n_sealed: int) -> object:
    # a migration adds a version, which the next seal has
    return schema_versions(place.con)[:n_sealed]


def _places(
    stack: ExitStack, warehouse: Warehouse, files: Sequence[tuple[Path, str]], *, is_same: bool
) -> tuple[list[Place], list[Finding], list[Finding]]:
    # The warehouse comes first. A file without the table of seals is of a version that sealed nothing, unless another
    # one has seals. If there is one file and it cannot be read, its error is raised.
    places: list[Place] = []
    without, unread = [], []
    for path, where in files:
        try:
            con = stack.enter_context(Warehouse(path).inspect())
            if not has_seals(con):
                without.append(where)
                continue
            if blocks := damaged_blocks(path):
                read_all(con, blocks, path)
            tables_of_runs(con)
            place = Place(
                where=where,
                con=con,
                warehouse=warehouse,
                chain=seals(con),
                marts=marts(con),
                counts=row_counts(con),
                is_copy=where != OWN,
                is_same=is_same and bool(places),  # with the warehouse, which comes first and was read
            )
        except WarehouseLocked:  # no damage: another program has it open
            raise
        except Exception as error:
            if len(files) == 1:
                raise
            why = (
                error if isinstance(error, PromptauditError) else WarehouseError(str(error))
            )  # DuckDB's message names tables and quotes no stored text
            unread.append(Check(where=where, what="file", which=str(path)).unread(why))
        else:
            places.append(place)
    differs = partial(Finding, kind="gone", what="raw.seals", detail="its table")
    if not any(place.chain for place in places):
        detail = "of a version that sealed nothing: the next publication does"
        differs = partial(Finding, kind="unsealed", what="warehouse", detail=detail)
    return places, [differs(where=where) for where in sorted(without)], unread


def _landed_after(chain: list[Seal], kept: Seal, only: str | None) -> list[str]:
    return [
        f"after seal {kept.seal_index}, {n:,} rows of raw.{table} landed in run {run}"
        for run, landed in landed_since(chain, kept).items()
        if only in (None, run)
        for table, n in landed.items()
    ]


def _are_same(own: Path, copy: Path) -> bool:
    # a log would change what is read
    logs = [path.with_name(path.name + ".wal") for path in (own, copy)]
    return not any(log.exists() for log in logs) and filecmp.cmp(own, copy, shallow=False)


def _check_chains(places: list[Place], tables: dict[str, list[str]]) -> list[Finding]:
    # all else rests on the chains, and on ids that can stand in SQL and in paths
    of_chains = (partial(check_chain, con=place.con, chain=place.chain) for place in places)
    checks = (Check(where=at.where, what="seal", explain=own) for at, own in zip(places, of_chains, strict=True))
    findings = list(walk(checks))
    if not findings and len(places) > 1:
        findings += check_copy(places[0].chain, places[1].chain, places[1].where)
    of_ids = partial(Finding, kind="broken", where=places[0].where, detail="no id that a run could have")
    unknown = [(table, run[:80]) for run, of_run in tables.items() if not PLAIN.fullmatch(run) for table in of_run]
    return findings + [of_ids(what=table, which=run) for table, run in unknown]


def _check_signed(places: list[Place], signers: bytes | None) -> tuple[list[Finding], str]:
    # with a sentence on what the chain proves
    if signers is None:
        return [], ORDER_ONLY
    found = [each for at in places for each in check_signed(at.where, con=at.con, chain=at.chain, signers=signers)]
    return found, ORDER_ONLY if found else SIGNED


def _verify_run(known: Known, places: list[Place]) -> tuple[RunSeal, list[Finding]]:
    run, audit_id, state = known
    own = places[0].seals_of(run)
    sealed = partial(RunSeal, audit_run_id=run, audit_id=audit_id, seal=own[-1].seal if own else None)
    check = Check(where=places[0].where, what="run", which=run, audit_run_id=run)
    if not own and state == "running":
        unsealed = [check.part(where=place.where, explain=partial(_unsealed_marts, place=place)) for place in places]
        return sealed(state="running"), list(walk(unsealed))
    if not own:
        why = "no seal covers it: its next publication makes one" if state else "rows of a run that was never opened"
        return sealed(state="unsealed"), [check.found("unsealed" if state else "added", detail=why)]
    findings: list[Finding] = []
    erased: list[Counter[str]] = []
    for place in places:
        # a copy may have been published before the run was sealed; one with the warehouse's bytes is checked with it
        if not place.seals_of(run) or (place.is_same and not findings):
            continue
        others = [other for other in places if other is not place]
        if place.folder is None:
            erased.append(Counter())
            other = next((other for other in others if other.folder is None), None)
            rows = partial(row_checks, place=place, other=other, counts=erased[-1])
            findings += walk([check.part(where=place.where, explain=rows)])
        of_marts = partial(_marts_of, place=place, places=places, others=others, is_open=state == "running")
        findings += walk([check.part(where=place.where, what="marts", explain=of_marts)])
    n_erased, retired = erased[0]["n_erased"], places[0].retired(run)
    outcome: State = "erased" if n_erased else "retired" if retired else "untouched"
    if findings:
        outcome = "differs" if any(each.kind != "unsealed" for each in findings) else "unsealed"
    n_rows = sum(each["n_rows"] for each in own[-1].entries["raw"].values())
    n_retired = sum(n_rows for _, n_rows in retired.values())
    return sealed(state=outcome, n_rows=n_rows, n_retired=n_retired, n_erased=n_erased), findings


def _unsealed_marts(check: Check, *, place: Place) -> Iterable[Finding]:
    # what a build that was cut short has left; a copy may have been published meanwhile
    run = str(check.audit_run_id)
    there = [mart for mart in place.marts if (rows := place.rows(mart, run)) is not None and has_rows(place.con, rows)]
    detail = f"it is running, and no seal has its rows of {', '.join(there)}: `promptaudit run` finishes it"
    return [check.found("unsealed", detail=detail)] if there else []


def _marts_of(
    check: Check, *, place: Place, places: list[Place], others: list[Place], is_open: bool
) -> Iterable[Finding]:
    # what an interrupted build or publication leaves is in no seal yet
    run = str(check.audit_run_id)
    sealed, newest = (at.seals_of(run)[-1].entries for at in (place, places[0]))
    findings = list(walk(mart_checks(check, sealed=sealed, place=place, others=others)))
    if place.folder is not None and findings:
        newer = {each.what for each in walk(mart_checks(check, sealed=newest, place=place, others=others))}
        differing = [each for each in findings if each.what in newer]
        detail = "newer than the published copy: its publication was cut short, the next one ends it"
        cut_short = [check.found("unsealed", detail=detail)] if len(differing) < len(findings) else []
        return differing + cut_short
    was_closed_again = sealed["derived_at"] not in (None, sealed["finished_at"])
    if findings and (was_closed_again or (is_open and not place.is_copy)):
        return [check.found("unsealed", detail="being derived again: `promptaudit run` finishes it")]
    return findings


def tables_of_runs(con: Connection) -> dict[str, list[str]]:
    """Lists the tables that have rows of each run, also of a run with an id that no run could have."""
    tables = {run: [f"raw.{table}" for table in counts] for run, counts in row_counts(con).items()}
    for mart, of_run in marts(con).items():
        with suppress(Exception):  # what cannot be read is a finding of the mart
            for (run,) in con.execute(f'select distinct {of_run} from marts."{mart}"').fetchall():  # noqa: S608 - a mart's own name
                tables.setdefault(str(run), []).append(f"marts.{mart}")
    return tables


def _kept(chain: list[Seal], kept: Seal) -> str:
    later = sum(each.audit_run_id == kept.audit_run_id and each.seal_index > kept.seal_index for each in chain)
    after = f", and {later} later ones of it follow" if later else ""
    at = f"{kept.sealed_at:%Y-%m-%d %H:%M} UTC"
    return f"seal {kept.seal[:12]} is run {kept.audit_run_id}'s of {at} ({kept.reason}){after}"
