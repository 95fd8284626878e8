"""Names what nobody of ours has made: tables, views and files beside those that a warehouse and its published copy have."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.differences import SealDifference, few
from promptaudit.marts.seal import IN_FILES, Seal
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.sql import sql

RAW = {*TABLES, "schema_versions"}


def check_tables(place: Place) -> list[SealDifference]:
    """Returns tables and views where readers look that neither this version makes nor any seal has as a mart.

    A table of marts that an older version made and sealed waits for the next build.
    """
    ours = {"marts": _sealed(place.chain) | grains().keys(), "raw": RAW, "main": set[str]()}
    differs = partial(SealDifference, kind="added", where=place.where, detail="no version of promptaudit makes it")
    tables = place.con.execute(sql("evidence", "tables")).fetchall()
    unknown = [(schema, name, is_view) for schema, name, is_view in tables if name not in ours[schema]]
    return few([differs(what=f"{'view ' if is_view else ''}{schema}.{name}") for schema, name, is_view in unknown])


def check_files(folder: Path, chain: Collection[Seal], runs: Collection[str], where: str) -> list[SealDifference]:
    """Returns Parquet files among runs' marts that no publication writes; readers take all that lies there."""
    marts = _sealed(chain) | grains().keys()
    ours: set[tuple[str, ...]] = {(mart, f"audit_run_id={run}", "data.parquet") for mart in marts for run in runs}
    ours |= {(view, "data.parquet") for view in IN_FILES}
    detail = "a file that no publication writes"
    differs = partial(SealDifference, kind="added", where=where, what="file", detail=detail)
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() == ".parquet" and path.is_file()]
    parts = [path.relative_to(folder).parts for path in files]
    return few([differs(which="/".join(each)) for each in parts if each not in ours])


def _sealed(chain: Collection[Seal]) -> set[str]:
    """Returns the marts that seals have, of this version or an older one."""
    names = {mart for each in chain for mart in each.entries["marts"]}
    return names | {mart for each in chain for own in each.entries["comparisons"].values() for mart in own}
