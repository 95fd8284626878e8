"""Publishes a warehouse: seals what is new, then writes the copy that readers open, and the marts as Parquet beside it.

A run's rows of a mart are one file. A view that lists runs is one file with all of them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from promptaudit.engines import Say
from promptaudit.lineage.openlineage.emit import published
from promptaudit.marts.describe import describe_marts
from promptaudit.marts.publication import Due, add_files, forget_files, hashes_of_files, publication
from promptaudit.marts.seal import Seal, marts, seal_runs, seals, views_in_files
from promptaudit.registry.errors import PromptauditError, UsageError, WarehouseError, WarehouseLocked
from promptaudit.system.display.progress import Progress
from promptaudit.system.files import copy_durably, file_sha256, private_folder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.blocks import refuse_damaged
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.insert import write_parquet
from promptaudit.warehouse.selection import Selection

PARQUET = "data.parquet"


def publish(
    warehouse: Warehouse,
    audit_run_ids: Collection[str] = (),
    compared: Collection[str] = (),
    erased: Collection[str] = (),
    warn: Say | None = None,
) -> Path:
    """Seals the new rows, writes the published copy and brings the Parquet files of marts up to date.

    The copy is checkpointed, copied, read block by block, fsynced and renamed into place. `audit_run_ids` are the runs
    whose marts are new, `compared` the comparisons that are new, `erased` the runs whose texts were removed
    (`promptaudit.marts.seal.seal_runs`).

    A reader in mid-query keeps the file it opened; a killed writer's rows are in the copy, since opening replays its
    log.

    If PROMPTAUDIT_LAKE names a lake, the lake is brought up to the copy. If that fails, `warn` gets the reason, by
    default a line on stderr, and the next publication catches up.
    """
    due = Due(derived=tuple(audit_run_ids), compared=tuple(compared), erased=tuple(erased), is_copied=True)
    with publication(warehouse, due):
        return _publish(warehouse, audit_run_ids, compared, erased, warn)


def _publish(
    warehouse: Warehouse,
    audit_run_ids: Collection[str],
    compared: Collection[str],
    erased: Collection[str],
    warn: Say | None,
) -> Path:
    target = warehouse.published.path
    private_folder(target.parent)
    files = warehouse.places.marts
    known = {seal.seal for seal in _published_seals(warehouse)}
    with warehouse.write() as con:
        describe_marts(con)
        seal_runs(con, audit_run_ids, compared, erased)
        chain = seals(con)
        remade = _remade(chain, known)
        of_runs = marts(con)
        for run, names in _missing(files, chain).items():
            remade.setdefault(run, set()).update(names)
        held, written = hashes_of_files(con), set[str]()
        for run, names in remade.items():
            own = of_runs if run in audit_run_ids else of_runs.keys() & names
            rows = {
                f"{mart}/audit_run_id={run}/{PARQUET}": Selection(
                    relation=f'marts."{mart}"', column=of_runs[mart], value=run
                )
                for mart in own
            }
            written |= _export(con, warehouse, rows, held)
        of_views = {f"{view}/{PARQUET}": Selection(relation=f'marts."{view}"') for view in views_in_files(con)}
        written |= _export(con, warehouse, of_views, held)
        forget_files(con, warehouse, written)
        con.execute("force checkpoint")  # the copy is of the file alone
    warehouse.let_go()
    copy_durably(warehouse.path, target, lambda draft: refuse_damaged(warehouse, draft))
    try:
        bring_lake_up(target)
    except PromptauditError as error:
        later = "" if isinstance(error, UsageError) else "; the next publication catches up"
        (warn or Progress().warn)(f"{error}{later}")
    with warehouse.kept_open():
        published(warehouse, {*audit_run_ids, *(run for run, names in remade.items() if names)})
    return target


def bring_lake_up(copy: Path, *, is_erasure: bool = False) -> None:
    """Brings the lake that PROMPTAUDIT_LAKE names up to a published copy; does nothing without a lake."""
    if os.environ.get("PROMPTAUDIT_LAKE"):
        from promptaudit.marts.write_lake import write_lake
        from promptaudit.warehouse.lake import lake_of_settings

        lake = lake_of_settings()
        if lake is not None:
            write_lake(lake, copy, is_erasure=is_erasure)


def _missing(files: Path, chain: Sequence[Seal]) -> dict[str, set[str]]:
    # an interrupted publication may leave sealed runs without some of their Parquet files
    newest = {seal.audit_run_id: _entries(seal) for seal in chain}
    return {
        run: names
        for run, entries in newest.items()
        if (names := {mart for mart in entries if not (files / mart / f"audit_run_id={run}" / PARQUET).is_file()})
    }


def _remade(chain: Sequence[Seal], known: Collection[str]) -> dict[str, set[str]]:
    # the marts whose seals differ from the published copy, which an interrupted publication may have left behind
    new = {seal.audit_run_id for seal in chain if seal.seal not in known}
    before: dict[str, dict[str, Any]] = {}
    after: dict[str, dict[str, Any]] = {}
    for seal in chain:
        if seal.audit_run_id in new:
            (before if seal.seal in known else after)[seal.audit_run_id] = _entries(seal)
    return {
        run: {mart for mart, entry in entries.items() if entry != before.get(run, {}).get(mart)}
        for run, entries in after.items()
    }


def _entries(seal: Seal) -> dict[str, Any]:
    entries: dict[str, Any] = dict(seal.entries["marts"])
    for comparison_id, own in seal.entries["comparisons"].items():
        for mart, entry in own.items():
            entries.setdefault(mart, {})[comparison_id] = entry
    return entries


def is_published(warehouse: Warehouse, audit_run_id: str) -> bool:
    """Checks whether the published copy has the marts of a run as it was last closed.

    Another publication may copy the warehouse in the middle of this run's build. A run that is derived again without
    being closed again, by `rebuild` or `annotate`, counts as published all the while.
    """
    newest = newest_published(warehouse, audit_run_id)
    if newest is None:
        return False
    rows = warehouse.read(
        "select finished_at from raw.audit_runs where audit_run_id = $audit_run_id", audit_run_id=audit_run_id
    )
    closed = rows[0]["finished_at"] if rows else None
    return closed is not None and newest.entries["derived_at"] == closed.isoformat()


def newest_published(warehouse: Warehouse, audit_run_id: str) -> Seal | None:
    """Reads the newest seal of a run in the published copy; None without one."""
    return next(reversed(_published_seals(warehouse, audit_run_id)), None)


def _published_seals(warehouse: Warehouse, audit_run_id: str | None = None) -> list[Seal]:
    # none if the copy is not there or cannot be read: the next publication replaces it
    if not warehouse.published.exists():
        return []
    try:
        with warehouse.published.connect() as con:
            return seals(con, audit_run_id)
    except WarehouseLocked:
        raise
    except WarehouseError:
        return []


def _draft(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _export(
    con: Connection, warehouse: Warehouse, files: Mapping[str, Selection], held: Mapping[str, Collection[str]]
) -> AbstractSet[str]:
    # the hashes are recorded before any file is exchanged, beside that of the file in its place: it may be one of which
    # nothing was recorded. Returns the names
    paths = {name: warehouse.places.marts / name for name in files}
    before = {name: file_sha256(path) for name, path in paths.items() if path.is_file()}
    sound = {name: [sha256] for name, sha256 in before.items() if sha256 in held.get(name, [sha256])}
    add_files(
        con, warehouse, {name: [*sound.get(name, ()), _drafted(con, paths[name], rows)] for name, rows in files.items()}
    )
    for path in paths.values():
        _exchange(path)
    return files.keys()


def _exchange(path: Path) -> None:
    _draft(path).replace(path)


def _drafted(con: Connection, path: Path, rows: Selection) -> str:
    private_folder(path.parent)
    write_parquet(con, rows, _draft(path))
    return file_sha256(_draft(path))
