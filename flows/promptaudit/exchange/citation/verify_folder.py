"""Checks a folder that cites a run: its checksums, its copy against the seals, and its files against the copy."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from promptaudit.evidence.verify import VerifyResult, verify
from promptaudit.evidence.verify.checks import Check, Finding, walk
from promptaudit.evidence.verify.runs import tables_of_runs
from promptaudit.exchange.citation.files import (
    CHECKSUMS,
    MANIFEST,
    checksum_lines,
    checksums,
    warehouse_of,
    write_files,
)
from promptaudit.exchange.citation.methods import COPY
from promptaudit.marts.manifest import made_by
from promptaudit.registry.errors import BrokenFile, UsageError
from promptaudit.system.files import read_regular

MOST_BYTES = 1_000_000  # of the two files that say what is there
LOCK = "warehouse/audit.duckdb.lock"
"""The empty file that a command leaves when it has read the copy."""
OF_NOTHING = hashlib.sha256().hexdigest()


def verify_folder(folder: Path, *, seal: str | None = None, signers: Path | None = None) -> VerifyResult:
    """Checks a folder: files against checksums, then rows and marts against seals, then files against the rows.

    Anybody who changes a file can write its checksum anew, and anybody who changes the copy can write its seals anew.
    Nobody can write the `seal` anew that the paper prints, nor the signature of one of `signers`.

    Raises UsageError for a folder that `promptaudit cite` did not write.
    """
    try:
        listed = read_regular(folder / CHECKSUMS, MOST_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, BrokenFile):
        msg = f"{folder}: no folder that `promptaudit cite` wrote: it has no {CHECKSUMS}"
        raise UsageError(msg) from None
    findings = list(walk(_listed(folder, listed)))
    if findings:
        notes = ["the files differ from their checksums: the seals were not looked at"]
        return VerifyResult(findings=findings, notes=notes)
    with warehouse_of(folder).published.connect() as con:
        runs = tables_of_runs(con).keys()
    if len(runs) != 1:
        detail = f"rows of {len(runs)} runs: the copy of a cited run has its own alone"
        more = Check(where=str(folder), what="run", detail=detail).found("added")
        return VerifyResult(findings=[more], notes=["the seals were not looked at"])
    (audit_run_id,) = runs
    held = verify(warehouse_of(folder), audit_run_id, seal=seal, signers=signers)
    held = replace(held, restore=())  # a cited run is restored by its own folder alone
    if held.exit_code:
        return held
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as again:
        write_files(Path(again), warehouse_of(folder), audit_run_id)
        return replace(held, findings=list(walk(_written(folder, Path(again), audit_run_id))))


def _files(folder: Path) -> dict[str, str]:
    return {name: sha256 for name, sha256 in checksums(folder).items() if (name, sha256) != (LOCK, OF_NOTHING)}


def _listed(folder: Path, listed: str) -> Iterator[Check]:
    # last the list itself, which may name the right checksums in lines that were not written like this
    there = _files(folder)
    named = {name: sha256 for line in listed.splitlines() for sha256, _, name in [line.partition("  ")]}
    check = Check(where=CHECKSUMS, what="file")
    for name in sorted(there.keys() | named.keys()):
        recorded = [named[name]] if name in named else ()
        yield check.part(which=name, recorded=recorded, read=partial(there.get, name))
    if there == named and checksum_lines(there) != listed:
        yield check.part(which=CHECKSUMS, kind="changed", detail="its lines are not as they were written")


def _written(folder: Path, again: Path, audit_run_id: str) -> Iterator[Check]:
    # the rows and marts of the copy make the files again; other code may write them differently
    try:
        manifest = json.loads(read_regular(folder / MANIFEST, MOST_BYTES))
    except (FileNotFoundError, BrokenFile, ValueError, RecursionError):
        manifest = {}
    check = Check(where=str(folder), what="file", kind="changed", detail="the copy's rows say otherwise")
    if not (isinstance(manifest, dict) and manifest.items() >= made_by().items()):
        detail = "another version of promptaudit wrote it: this one would otherwise"
        check = check.part(kind="unsealed", detail=detail)
    made, there = _files(again), _files(folder)
    for name in sorted((made.keys() | there.keys()) - {COPY}):
        recorded = [made[name]] if name in made else ()
        explain = partial(_parquet, one=folder / name, other=again / name)
        yield check.part(
            which=name, audit_run_id=audit_run_id, recorded=recorded, read=partial(there.get, name), explain=explain
        )


def _parquet(check: Check, *, one: Path, other: Path) -> Iterator[Finding]:
    # other libraries may write the same rows as other bytes
    is_both = one.suffix == ".parquet" and one.is_file() and other.is_file()
    if not is_both or not pl.read_parquet(one, glob=False).equals(pl.read_parquet(other, glob=False)):
        yield check.found(check.kind or "changed")
