"""Erases a sample's texts from everything under the warehouse's folder: inputs, the answers to them, judges' reasons.

Figures stay, and the sample keeps its id, its gold label and the labels that were read from its answers. An erased run
that is derived again lacks the sample. Deleted text survives in a DuckDB file until the file is rewritten, so each file
is rewritten. The caller holds the warehouse.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from promptaudit.ask.shards.land_segments import land_left
from promptaudit.audit.erase.examples import SampleOfRun, blank_examples, shown_rows
from promptaudit.audit.erase.leftovers import beyond_reach, still_quoting
from promptaudit.audit.erase.pages import Pages, compared_runs, delete, newest_shown, pages_of, write_again
from promptaudit.engines import Say, silent
from promptaudit.evidence.blanks import GONE, LEAST, NEEDED, TEXTS
from promptaudit.evidence.retain import restore, retire_again, retired_runs
from promptaudit.evidence.verify import verify
from promptaudit.marts.publication import Due, Publication, add, end, left_open, publication
from promptaudit.marts.publish import bring_lake_up, publish
from promptaudit.registry.errors import DataError, UsageError, nearest
from promptaudit.system.clock import now
from promptaudit.system.display.figures import shown
from promptaudit.system.keys import as_json, content_id
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.dbt_project import sweep_spills
from promptaudit.warehouse.duckdb_file import Connection
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.selection import of_file
from promptaudit.warehouse.sql import sql

KEPT = {"seals", "row_digests", "erasures", "schema_versions"}  # tables of raw that quote nobody
NO_TEXT = ("_id", "_sha256", "_key", "fingerprint", "sha256", "_at")  # endings of columns that quote nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Says which runs and how many rows of each table lost a sample's texts, and where copies may be left."""

    sample_id: str
    audit_run_ids: tuple[str, ...]
    n_rows: dict[str, int]
    still_quoting: tuple[str, ...] | None  # files under the folder; none is expected. None if they were not searched
    beyond_reach: tuple[str, ...]
    published: Path

    def lines(self) -> list[str]:
        """Writes what was erased, what still quotes it, and what is out of reach."""
        left = [f"files were not looked through: no text of {LEAST} characters is left here to look for"]
        if self.still_quoting is not None:
            left = [f"still quotes it, or cannot be read: {shown(path)}" for path in self.still_quoting]
        rows = ", ".join(f"{n} of {table}" for table, n in self.n_rows.items())
        return [
            f"erased the texts of sample {self.sample_id!r} in {len(self.audit_run_ids)} runs: {rows}",
            f"texts of fewer than {LEAST} characters, or spelt otherwise, were not looked for in other rows",
            *left,
            *(f"beyond reach: {shown(each)}" for each in self.beyond_reach),
            f"published  {self.published}",
        ]


def erase(
    warehouse: Warehouse,
    sample_id: str,
    task_id: str | None = None,
    reason: str | None = None,
    spool: str | None = None,
    say: Say = silent,
) -> Erasure:
    """Erases the texts of a sample in every run, seals that, publishes, and writes the reports of the runs again.

    A data row that no run asked is a sample too if prompts show it as an example. Doing it again finds what an
    interrupted call left, whether or not that named the task, and nothing else.

    Raises:
        DataError: no run has such a sample and no prompt shows it as an example, or a run is not as it was sealed.
        UsageError: a run that has it is not finished, and would ask it again.
    """
    warehouse.apply_schema()
    land_left(warehouse, spool, say)
    samples = _samples(warehouse, sample_id, task_id)
    texts = _texts(samples)
    runs_of_sample = {row.audit_run_id for row in samples}
    _refuse_altered(warehouse, runs_of_sample)
    begun = _begun(warehouse, sample_id, task_id, samples)
    with publication(warehouse, _due(warehouse, runs_of_sample).joined(Due(sample=(sample_id, task_id)))):
        # an interrupted call has deleted pages that this one writes again
        for each in begun:
            add(warehouse, each.due)
        erasure = _erase(warehouse, sample_id, task_id, reason, samples, texts)
    end(warehouse, begun)
    return erasure


def _begun(
    warehouse: Warehouse, sample_id: str, task_id: str | None, samples: Sequence[SampleOfRun]
) -> list[Publication]:
    # the interrupted erasures of the sample of which this one does everything: of its tasks, or of every task
    left = [each for each in left_open(warehouse) if each.due.sample[:1] == (sample_id,)]
    if not left or task_id is None:
        return left
    has_every_task = {row.task_id for row in _found(warehouse, sample_id, None)} == {row.task_id for row in samples}
    return [each for each in left if each.due.sample[1] == task_id or (has_every_task and each.due.sample[1] is None)]


def _due(warehouse: Warehouse, runs: Collection[str]) -> Due:
    pages = pages_of(warehouse, runs, compared_runs(warehouse))
    return Due(
        erased=tuple(sorted(runs)), pages=tuple(sorted(pages.runs)), comparisons=tuple(sorted(pages.comparisons))
    )


def _erase(
    warehouse: Warehouse,
    sample_id: str,
    task_id: str | None,
    reason: str | None,
    samples: Sequence[SampleOfRun],
    texts: Sequence[str],
) -> Erasure:
    runs_of_sample = {row.audit_run_id for row in samples}
    newest = newest_shown(warehouse)
    # copies first: what is interrupted finds the texts again in the warehouse, and from them the copies
    archived = _archived(warehouse, samples, texts)
    for run in archived:
        restore(warehouse, run)
    _clean_backups(warehouse, samples, texts)
    for run in runs_of_sample:
        shutil.rmtree(warehouse.places.traces(run), ignore_errors=True)
        warehouse.places.formats_page(run).unlink(missing_ok=True)
    n_rows: Counter[str] = Counter()
    with warehouse.write() as con:
        con.execute("begin")
        runs = _blank(con, samples, texts, n_rows)
        erasure_id = content_id("erasure", sample_id, task_id, now().isoformat())
        for run in sorted(runs):
            # a run without the sample quoted it
            own = [row for row in samples if row.audit_run_id == run] or [samples[0]._replace(audit_run_id=run)]
            rows = [_tombstone(row, erasure_id, n_rows, reason) for row in own]
            insert_new(con, "erasures", frame_of("erasures", rows))
        for (table,) in con.execute(
            "select table_name from information_schema.tables "
            "where table_schema = 'intermediate' and table_type = 'BASE TABLE'"
        ).fetchall():
            con.execute(f'delete from intermediate."{table}"')  # noqa: S608 - dbt's own names
        due = add(warehouse, _due(warehouse, runs))
        delete(warehouse, Pages(frozenset(due.pages), frozenset(due.comparisons)), newest)
        con.execute("commit")
    sweep_spills(warehouse)
    runs |= {row["audit_run_id"] for row in warehouse.read(sql("audit.erase", "interrupted"))}
    if runs:
        warehouse.rewrite()
    published = publish(warehouse, erased=runs)
    for run in archived:
        retire_again(warehouse, run)
    if archived:
        warehouse.rewrite()
        published = publish(warehouse)
    bring_lake_up(published, is_erasure=True)
    due = add(warehouse, _due(warehouse, runs))
    write_again(warehouse, Pages(frozenset(due.pages), frozenset(due.comparisons)), newest)
    left = tuple(str(path) for path in still_quoting(warehouse, texts)) if texts else None
    return Erasure(
        sample_id=sample_id,
        audit_run_ids=tuple(sorted(runs)),
        n_rows=dict(n_rows),
        still_quoting=left,
        beyond_reach=beyond_reach(warehouse, samples),
        published=published,
    )


def _refuse_altered(warehouse: Warehouse, runs: set[str]) -> None:
    # an erasure seals rows anew, and rows that were altered before it would be sealed with them
    begun = {
        row["audit_run_id"] for row in warehouse.read(sql("audit.erase", "interrupted"))
    }  # whose rows an erasure has rewritten
    for run in sorted(runs - begun):
        for each in verify(warehouse, run).findings:
            if each.kind != "unsealed" and each.where == "the warehouse":
                why = "erasing would seal that too; `promptaudit verify` says more"
                msg = f"run {run} is not as it was sealed ({each.line}): {why}"
                raise DataError(msg)


def _clean_backups(warehouse: Warehouse, samples: Sequence[SampleOfRun], texts: Sequence[str]) -> None:
    for path in {warehouse.path.absolute(), warehouse.places.file}:  # as named, and where a link leads
        for backup in path.parent.glob(f"{escape(path.name)}.v*.backup"):
            with Warehouse(backup).write() as con:
                _blank(con, samples, texts, Counter())
            Warehouse(backup).rewrite()


def _samples(warehouse: Warehouse, sample_id: str, task_id: str | None) -> list[SampleOfRun]:
    samples = _found(warehouse, sample_id, task_id)
    if not samples:
        of = "" if task_id is None else f" of task {task_id!r}"
        known = warehouse.read(sql("audit.erase", "known_rows"))
        msg = f"no run has a sample {sample_id[:80]!r}{of}{nearest(sample_id, [row['sample_id'] for row in known])}"
        raise DataError(msg)
    for row in samples:
        if row.goes_on:
            sends = f"run {row.audit_run_id} sends sample {sample_id[:80]!r}"
            msg = f"{sends} and is not finished: `promptaudit run` finishes it first"
            raise UsageError(msg)
    return samples


def _found(warehouse: Warehouse, sample_id: str, task_id: str | None) -> list[SampleOfRun]:
    # a row for each run and task that asked the sample or shows it as an example
    samples = rows_as(SampleOfRun, warehouse.read(sql("audit.erase", "samples"), sample=sample_id, task=task_id))
    with warehouse.write() as con:
        return samples + shown_rows(con, sample_id, task_id)


def _texts(samples: Sequence[SampleOfRun]) -> list[str]:
    # in each spelling in which a column may quote them, the longest first
    own: set[str] = set()
    for row in samples:
        own.add(row.input or "")
        for text in (row.options, row.reference_answers, row.fields):
            own |= set(_strings(json.loads(text or "null")))
    long = {text for text in own if len(text) >= LEAST}
    quoted = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in long for is_ascii in (True, False)}
    twice = {json.dumps(text, ensure_ascii=False)[1:-1] for text in quoted}  # a prompt's JSON inside a card's JSON
    return sorted(long | quoted | twice, key=len, reverse=True)


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
        yield from _strings(_gold_values(value))
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _gold_values(reference: str) -> object:
    # an extraction's gold values, an object or a list, with numbers as they are written; else None
    try:
        return json.loads(reference, parse_int=str, parse_float=str) if reference.startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None


def _archived(warehouse: Warehouse, samples: Sequence[SampleOfRun], texts: Sequence[str]) -> list[str]:
    # the retired runs whose archive holds or quotes the texts; archives of restored runs that do are deleted
    due = []
    retired = retired_runs(warehouse)
    for run in sorted(
        {path.parent.name.partition("=")[2] for path in warehouse.places.archive.glob("*/*/data.parquet")}
    ):
        files = {
            path.parent.parent.name: path
            for path in warehouse.places.archive.glob(f"*/audit_run_id={run}/*.parquet")
            if path.parent.parent.name in TABLES
        }
        with warehouse.write() as con:
            for table, path in files.items():
                rows = of_file(path)
                con.execute(f"create or replace temp table {table} as from {rows.sql}", rows.values)
            _mark(con, samples)
            columns = {f"temp.{table}": TEXTS[f"raw.{table}"] for table in files if f"raw.{table}" in TEXTS}
            has_own = _blank_tables(con, columns, "temp")
            if not (has_own or _replace_texts(con, texts, "temp")):
                continue
        if run in retired:
            due.append(run)
        else:
            for path in files.values():
                path.unlink()
    return due


def _blank(con: Connection, samples: Sequence[SampleOfRun], texts: Sequence[str], n_rows: Counter[str]) -> set[str]:
    # returns the runs whose rows changed, and counts the sample's own rows by table
    _mark(con, samples)
    updated = _blank_tables(con, TEXTS, "raw")
    for sample_id, task_id in sorted({(row.sample_id, row.task_id) for row in samples}):
        updated.update(("raw.prompt_variants", run) for run in blank_examples(con, sample_id, task_id))
    for (table, _), n in updated.items():
        n_rows[table] += n
    return {run for _, run in updated} | _replace_texts(con, texts, "raw", "marts")


def _mark(con: Connection, samples: Sequence[SampleOfRun]) -> None:
    con.execute("create or replace temp table gone (audit_run_id varchar, task_id varchar, sample_id varchar)")
    con.executemany("insert into gone values (?, ?, ?)", [row[:3] for row in samples])


def _blank_tables(con: Connection, wanted: dict[str, tuple[str, ...]], schema: str) -> Counter[tuple[str, str]]:
    # counts the changed rows by table and run; `schema` has the answers that were ruled on
    changed: Counter[tuple[str, str]] = Counter()
    for table, columns in _present(con, wanted):
        blank = ", ".join(f"{column} = {_blanked(table, column)}" for column in columns)
        differs = " or ".join(f"{column} is distinct from {_blanked(table, column)}" for column in columns)
        own = _own(con, table, schema)
        statement = f"update {table} set {blank} where ({differs}) and {own} returning audit_run_id"  # noqa: S608 - ours
        changed.update((table, row[0]) for row in con.execute(statement).fetchall())
    return changed


def _replace_texts(con: Connection, texts: Sequence[str], *schemas: str) -> set[str]:
    # returns the runs whose rows changed
    runs: set[str] = set()
    for table, columns in _quoting(con, schemas):
        known = _columns(con, table)
        of_run = "audit_run_id" if "audit_run_id" in known else "candidate_run_id"
        if of_run not in known:
            continue
        replaced = ", ".join(f'"{column}" = replace("{column}", $text, \'{GONE}\')' for column in columns)
        quotes = " or ".join(f'contains("{column}", $text)' for column in columns)
        statement = f"update {table} set {replaced} where {quotes} returning {of_run}"  # noqa: S608 - ours
        for text in texts:
            runs |= {row[0] for row in con.execute(statement, {"text": text}).fetchall()}
    return runs


def _quoting(con: Connection, schemas: Sequence[str]) -> list[tuple[str, list[str]]]:
    # text columns that may quote a sample: a prompt's or card's example, another sample's answer, a reason
    views = {
        row[0]
        for row in con.execute(
            "select table_schema || '.' || table_name from information_schema.tables where table_type = 'VIEW'"
        ).fetchall()
    }
    quoting: dict[str, list[str]] = {}
    for table, column in _columns_like(con, "VARCHAR"):
        schema, _, name = table.partition(".")
        if schema in schemas and table not in views and name not in {*KEPT, "gone"} and not column.endswith(NO_TEXT):
            quoting.setdefault(table, []).append(column)
    return list(quoting.items())


def _present(con: Connection, wanted: dict[str, tuple[str, ...]]) -> list[tuple[str, list[str]]]:
    # before the first whole build some of the tables are missing
    there = set(_columns_like(con, "VARCHAR%"))
    present = [(table, [column for column in columns if (table, column) in there]) for table, columns in wanted.items()]
    return [(table, columns) for table, columns in present if columns]


def _blanked(table: str, column: str) -> str:
    if (table.partition(".")[2], column) in NEEDED:
        return f"'{GONE}'"
    return f"if({column} is null, null, '{GONE}')" if column == "error" else "null"


def _own(con: Connection, table: str, schema: str) -> str:
    # SQL for the rows of a table that are the sample's
    columns = {row[0] for row in con.execute(f"describe {table}").fetchall()}
    by_name = "(audit_run_id, task_id, sample_id)"
    if {"task_id", "sample_id"} <= columns:
        return f"{by_name} in (select {by_name} from gone)"  # noqa: S608 - ours
    answers = {"prediction_id": f"{schema}.predictions", "control_id": f"{schema}.judge_controls"}
    own = [
        f"{name} in (select {name} from {source} where {by_name} in (select {by_name} from gone))"  # noqa: S608 - ours
        for name, source in answers.items()
        if name in columns and _columns(con, source)
    ]
    return f"({' or '.join(own) or 'false'})"


def _columns(con: Connection, table: str) -> list[str]:
    return [column for name, column in _columns_like(con, "%") if name == table]


def _columns_like(con: Connection, data_type: str) -> list[tuple[str, str]]:
    # the type may be a pattern of LIKE
    return con.execute(sql("audit.erase", "columns"), {"data_type": data_type}).fetchall()


def _tombstone(row: SampleOfRun, erasure_id: str, n_rows: Counter[str], reason: str | None) -> dict[str, Any]:
    return {
        "audit_run_id": row.audit_run_id,
        "erasure_id": erasure_id,
        "task_id": row.task_id,
        "sample_id": row.sample_id,
        "n_rows": as_json(dict(n_rows)),
        "reason": reason,
        "erased_at": now(),
    }
