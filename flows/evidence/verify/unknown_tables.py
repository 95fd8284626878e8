"""Names what nobody of ours has made: tables, views and files beside those that a warehouse and its published copy have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from flows.evidence.verify.copies import Place
from flows.evidence.verify.findings import Finding, few
from flows.marts.seal import Seal
from flows.warehouse.figure_names import grains
from flows.warehouse.rows import SCHEMAS
from flows.warehouse.sql import sql


def check_tables(place: Place) -> list[Finding]:
    """Tables and views where readers look, that neither this version makes nor any seal has as a mart.

    A table of marts that an older version made and sealed waits for the next build.
    """
    ours = {"marts": _sealed(place.chain) | grains().keys(), "raw": {*SCHEMAS, "schema_versions"}, "main": set[str]()}
    found = []
    for schema, name, is_view in place.con.execute(sql("evidence", "tables")).fetchall():
        if name not in ours[schema]:
            what = f"view {schema}.{name}" if is_view else f"{schema}.{name}"
            found.append(Finding("added", place.where, what, "", "no version of promptaudit makes it"))
    return few(found)


def check_files(folder: Path, chain: Collection[Seal], runs: Collection[str], where: str) -> list[Finding]:
    """Parquet files among a run's marts that no publication writes; readers take all that lies there."""
    marts = _sealed(chain) | grains().keys()
    ours = {(mart, f"audit_run_id={run}") for mart in marts for run in runs}
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_one = len(parts) == 3 and parts[:2] in ours and parts[2] == "data.parquet"  # noqa: PLR2004
        if path.suffix.lower() == ".parquet" and path.is_file() and not is_one:
            found.append(Finding("added", where, "file", "/".join(parts), "a file that no publication writes"))
    return few(found)


def _sealed(chain: Collection[Seal]) -> set[str]:
    """The marts that seals have, of this version or an older one."""
    names = {mart for each in chain for mart in each.held["marts"]}
    return names | {mart for each in chain for own in each.held["comparisons"].values() for mart in own}
