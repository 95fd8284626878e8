"""Holds a folder that cites a run against its checksums, its copy against the seals, and its files against the copy."""

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
from promptaudit.evidence.verify.differences import Kind, SealDifference
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
from promptaudit.marts.seal import marts, row_counts
from promptaudit.registry.errors import BrokenFile, UsageError
from promptaudit.system.files import read_regular

MOST_BYTES = 1_000_000  # of the two files that say what is there
LOCK = "warehouse/audit.duckdb.lock"
"""What a command leaves that reads the copy: a file without a byte."""
OF_NOTHING = hashlib.sha256().hexdigest()


def verify_folder(folder: Path, *, seal: str | None = None) -> VerifyResult:
    """Returns what differs in a folder: files from their checksums, then rows and marts from the seals, then files from the rows.

    Whoever changes a file can write its checksum anew, and whoever changes the copy its seals: `seal`, as the paper prints it,
    is what nobody can write anew.

    Raises UsageError for a folder that `promptaudit cite` did not write.
    """
    try:
        listed = read_regular(folder / CHECKSUMS, MOST_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, BrokenFile):
        msg = f"{folder}: no folder that `promptaudit cite` wrote: it has no {CHECKSUMS}"
        raise UsageError(msg) from None
    differing = list(_differing(folder, listed))
    if differing:
        return VerifyResult(
            findings=differing, notes=["the files differ from their checksums: the seals were not looked at"]
        )
    runs = _runs(folder)
    if len(runs) != 1:
        detail = f"rows of {len(runs)} runs: the copy of a cited run has its own alone"
        more = SealDifference(kind="added", where=str(folder), what="run", detail=detail)
        return VerifyResult(findings=[more], notes=["the seals were not looked at"])
    (audit_run_id,) = runs
    held = verify(warehouse_of(folder), audit_run_id, seal=seal)
    return held if held.exit_code else replace(held, findings=_not_of_the_copy(folder, audit_run_id))


def _runs(folder: Path) -> set[str]:
    """Returns the runs that the copy has rows of."""
    with warehouse_of(folder).published.connect() as con:
        of_marts = [
            con.execute(f'select distinct {of_run} from marts."{mart}"').fetchall()  # noqa: S608 - a mart's own name
            for mart, of_run in marts(con).items()
        ]
        return {*row_counts(con), *(run for rows in of_marts for (run,) in rows)}


def _files(folder: Path) -> dict[str, str]:
    """Returns the sha256 of each file, but for an empty lock."""
    return {name: sha256 for name, sha256 in checksums(folder).items() if (name, sha256) != (LOCK, OF_NOTHING)}


def _differing(folder: Path, listed: str) -> Iterator[SealDifference]:
    """Yields the files that are not as a list of checksums has them, and the list where no folder would have it so."""
    there = _files(folder)
    if checksum_lines(there) == listed:
        return
    named = {name: sha256 for line in listed.splitlines() for sha256, _, name in [line.partition("  ")]}
    differs = partial(SealDifference, where=CHECKSUMS, what="file")
    for name in sorted(there.keys() | named.keys()):
        if there.get(name) != named.get(name):
            kind: Kind = "changed" if name in there and name in named else "added" if name in there else "gone"
            yield differs(kind=kind, which=name)
    if there == named:
        yield differs(kind="changed", which=CHECKSUMS, detail="its lines are not as they were written")


def _not_of_the_copy(folder: Path, audit_run_id: str) -> list[SealDifference]:
    """Returns the files that do not follow from the rows and marts of the copy; other code may write them otherwise."""
    try:
        manifest = json.loads(read_regular(folder / MANIFEST, MOST_BYTES))
    except (FileNotFoundError, BrokenFile, ValueError, RecursionError):
        manifest = {}
    is_ours = isinstance(manifest, dict) and manifest.items() >= made_by().items()
    detail = (
        "the copy's rows say otherwise"
        if is_ours
        else "another version of promptaudit wrote it: this one would otherwise"
    )
    differs = partial(SealDifference, where=str(folder), what="file", audit_run_id=audit_run_id, detail=detail)
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as again:
        write_files(Path(again), warehouse_of(folder), audit_run_id)
        names = sorted({*_files(Path(again)), *_files(folder)})
        return [
            differs(kind="changed" if is_ours else "unsealed", which=name)
            for name in names
            if name != COPY and not _same(folder / name, Path(again) / name)
        ]


def _same(one: Path, other: Path) -> bool:
    """Returns whether two files hold the same; of Parquet files the same rows, which other libraries write otherwise."""
    if not (one.is_file() and other.is_file()):
        return False
    if one.read_bytes() == other.read_bytes():
        return True
    try:
        frames = [pl.read_parquet(path, glob=False) for path in (one, other) if one.suffix == ".parquet"]
    except pl.exceptions.PolarsError:
        return False
    return bool(frames) and frames[0].equals(frames[1])
