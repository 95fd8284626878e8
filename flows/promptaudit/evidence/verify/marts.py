"""Compares marts, views and Parquet files with the newest seal, and names any that no version of promptaudit makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from promptaudit.evidence.trace.recompute import TOLERANCE
from promptaudit.evidence.verify.checks import Check, Finding
from promptaudit.evidence.verify.copies import Place
from promptaudit.evidence.verify.rows import Rows, differing
from promptaudit.marts.digests import NO_ROWS
from promptaudit.marts.manifest import made_by
from promptaudit.marts.publication import hashes_of_files
from promptaudit.marts.seal import EMPTY, IN_FILES, OF_COMPARISONS, OF_RUNS, Entries, Seal, SealedRows, compares, views
from promptaudit.system.files import file_sha256
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.selection import of_file
from promptaudit.warehouse.sql import sql


def mart_checks(check: Check, *, sealed: Entries, place: Place, others: Sequence[Place]) -> Iterator[Check]:
    """Checks a run's marts in a place. `others` are places in which rows that differ are looked up."""
    for mart in sorted(place.marts.keys() | _marts_of(sealed)):
        explain = partial(_parts, mart=mart, sealed=sealed, place=place, others=others)
        of_mart = check.part(what=f"marts.{mart}", which="", explain=explain)
        is_ours = mart in grains()
        detail = "another version's: the next build seals what this one makes"
        yield of_mart if is_ours else of_mart.part(kind="unsealed", detail=detail)


def _parts(
    check: Check, *, mart: str, sealed: Entries, place: Place, others: Sequence[Place]
) -> Iterator[Finding | Check]:
    # a mart is checked as a whole, and a mart that compares runs comparison by comparison
    of = partial(_check, check, mart, place=place, others=others)
    if not compares(mart):
        yield of(sealed["marts"].get(mart))
        return
    compared, there = sealed["comparisons"], place.comparisons(mart, str(check.audit_run_id))
    if None in there:
        yield check.found("added", detail="rows of no comparison")
    for each in sorted({*compared, *(known for known in there if known is not None)}):
        yield of(compared.get(each, {}).get(mart), comparison=each)


def _check(
    check: Check,
    mart: str,
    wanted: SealedRows | None,
    *,
    place: Place,
    others: Sequence[Place],
    comparison: str | None = None,
) -> Check:
    run, column = str(check.audit_run_id), OF_RUNS if comparison is None else OF_COMPARISONS
    columns = (column,) if wanted is None else tuple(wanted["columns"])
    recorded = () if wanted is None else ((wanted["n_rows"], wanted["sha256"]),)

    def read(at: Place) -> object:
        found = at.sum_of(mart, run, columns, comparison)
        return None if found == NO_ROWS and (wanted is None or at.source(mart, run) is None) else found

    def explain(of_mart: Check) -> Iterable[Finding]:
        rows = place.rows(mart, run, comparison)
        if rows is None:
            return [of_mart.found("gone", detail="its table" if place.folder is None else "its Parquet file")]
        if wanted is None:
            return [_unsealed(of_mart, place, comparison, place.sum_of(mart, run, columns, comparison)[0])]
        now = Rows(place.con, rows, grains()[mart])
        for other in others:
            with suppress(Exception):  # what cannot be read there is a finding of that place
                was = other.rows(mart, run, comparison)
                if was is not None and read(other) in recorded:
                    old = Rows(other.con, was, now.key)
                    before = {columns: old.digests(columns)}
                    return list(differing(of_mart, now, before, old, columns=columns, tolerance=TOLERANCE))
        return [of_mart.found("changed", detail="no copy has it as it was sealed, to say in which row")]

    return check.part(recorded=recorded, read=partial(read, place), explain=explain)


def _unsealed(check: Check, place: Place, comparison: str | None, n_rows: int) -> Finding:
    # rows of a comparison that was cut short wait for their seal; all others were added
    wanted = "select 1 from raw.comparisons where comparison_id = ?"
    if comparison is not None and place.con.execute(wanted, [comparison]).fetchall():
        return check.found("unsealed", comparison, "a comparison that was cut short: asking for it again derives it")
    return check.found("added", detail=f"{n_rows} rows of a mart that no seal has")


def view_checks(check: Check, *, place: Place, is_open: bool) -> Iterator[Check | Finding]:
    """Checks views against the newest seal, and names tables and views that no seal has and this version does not make.

    Another version of the project makes other views, and so does another version of DuckDB, which prints SQL its own
    way, or a build in a run that is open. The next build seals such views. It also seals a table that an older version
    made and sealed.
    """
    newest, there = place.chain[-1].entries if place.chain else EMPTY, views(place.con)
    is_open = (is_open and not place.is_copy) or _is_of_another_version(place)
    sealed, known = newest["views"], sealed_marts(place.chain) | grains().keys()
    for name in sorted({*sealed, *(f"marts.{mart}" for mart in grains())}) if place.chain else ():
        yield check.part(
            what=f"view {name}",
            kind="unsealed" if is_open else None,
            recorded=[sealed[name]] if name in sealed else (),
            read=partial(there.get, name),
        )
    ours = {"marts": known, "raw": {*TABLES, "schema_versions"}, "main": set()}
    for schema, name, is_view in place.con.execute(sql("evidence", "tables")).fetchall():
        if name not in ours[schema]:
            of_table = check.part(what=f"{'view ' if is_view else ''}{schema}.{name}")
            yield of_table.found("added", detail="no version of promptaudit makes it")


def column_checks(check: Check, *, place: Place, is_open: bool) -> Iterator[Finding]:
    """Names the columns of marts that no seal has. A build of another version, or one that was cut short, adds some."""
    known: dict[str, set[str]] = {}
    for seal in place.chain:
        for marts in (seal.entries["marts"], *seal.entries["comparisons"].values()):
            for mart, entry in marts.items():
                known.setdefault(mart, set()).update(entry["columns"])
    is_open = (is_open and not place.is_copy) or _is_of_another_version(place)
    for mart, names in sorted(known.items()):
        if more := place.columns(mart) - names:
            of_mart, names_ = check.part(what=f"marts.{mart}"), ", ".join(sorted(more))
            if is_open:
                yield of_mart.found("unsealed", detail=f"column {names_}, another version's or added")
            else:
                yield of_mart.found("added", detail=f"column {names_}")


def _is_of_another_version(place: Place) -> bool:
    newest = place.chain[-1].entries if place.chain else EMPTY
    return newest["views_by"] != made_by()["dbt_project"]


def file_checks(
    check: Check, *, folder: Path, runs: Collection[str], places: Sequence[Place], only: str | None = None
) -> Iterator[Finding | Check]:
    """Checks the Parquet files among the marts, and names each file that no publication writes.

    Readers take every file that lies there. The file of a view must hold what the view gives in the published copy or
    in the warehouse: a publication that was cut short may have written the file and not yet the copy, or the other way
    round. A file that a publication wrote must be one of those that it recorded: what no row shows, as a damaged filter
    within the file, may hide rows from a query. `only` is the run whose files are held so; None is every run.
    """
    recorded: dict[str, set[str]] = {}
    for place in places:
        for name, hashes in hashes_of_files(place.con).items():
            recorded.setdefault(name, set()).update(hashes)
    marts = sealed_marts(places[0].chain) | grains().keys()
    of_runs = marts - set(IN_FILES)
    ours: set[tuple[str, ...]] = {(mart, f"audit_run_id={run}", "data.parquet") for mart in of_runs for run in runs}
    ours |= {(view, "data.parquet") for view in IN_FILES}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_read = path.suffix.lower() == ".parquet" and path.is_file()
        if (is_read and parts not in ours) or path.is_symlink():
            yield check.part(what="file").found("added", "/".join(parts), "a file that no publication writes")
        run = parts[1].partition("=")[2] or None if len(parts) > 1 else None
        if is_read and "/".join(parts) in recorded and (only is None or run in (None, only)):
            detail = "its Parquet file is not as it was written"
            yield check.part(
                what=f"marts.{parts[0]}",
                detail=detail,
                audit_run_id=run,
                recorded=recorded["/".join(parts)],
                read=partial(file_sha256, path),
            )
    for view in IN_FILES if folder.is_dir() else ():
        having = [place for place in places if f"marts.{view}" in views(place.con)]
        if having:
            read = partial(_is_same, view, folder / view / "data.parquet", having)
            yield check.part(what=f"view marts.{view}", detail="its Parquet file", recorded=[True], read=read)


def _is_same(view: str, path: Path, places: Sequence[Place]) -> bool | None:
    # compared with the view in each place; None if there is no file
    file = of_file(path)
    rows = f"(from marts.{view} except all from {file.sql}) union all (from {file.sql} except all from marts.{view})"
    query = f"select 1 from ({rows}) limit 1"  # noqa: S608 - ours
    if not path.is_file():
        return None
    return any(not place.con.execute(query, file.values).fetchall() for place in places)


def sealed_marts(chain: Collection[Seal]) -> set[str]:
    """Collects the marts that any seal of the chain has, of this version or an older one."""
    return {mart for each in chain for mart in _marts_of(each.entries)}


def _marts_of(sealed: Entries) -> set[str]:
    return {mart for marts in (sealed["marts"], *sealed["comparisons"].values()) for mart in marts}
