"""Reads segments that other processes, or an earlier start, left for a run, and checks their rows before they land.

A segment holds rows of one run that is open, of tables that a spool has, and of cells that the run asks. Its numbers
are finite and not negative, and its times belong to the run. Any other file is set aside: it is moved to a folder
beside and named in a message, and the run goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate, groupby

import polars as pl

from promptaudit.registry.errors import BrokenFile, WarehouseError
from promptaudit.system.clock import now
from promptaudit.system.keys import prediction_id, verdict_id
from promptaudit.system.shared_folder import SharedFolder, shared_folder
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.insert import insert_new
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.spool import is_segment, number_of, rows_of, table_of
from promptaudit.warehouse.sql import sql

Segment = tuple[str, pl.DataFrame]
"""A table and rows of it."""
READ_AT_ONCE = 16
"""Segments that are read, and removed, in parallel: a bucket takes its time for each."""
BYTES_AT_ONCE = 250_000_000
"""Bytes of segments that are read in parallel."""
ASKED = ("predictions", "attempts", "engines")
"""The tables that askers write."""
SPOOLED = (*ASKED, "verdicts")
"""The tables whose rows a run spools."""
ODD_CLOCK = timedelta(days=1)
"""How far the clock of an asker's machine may be off."""
CELL = ["model_id", "task_id", "prompt_variant_id", "sample_id", "repetition"]


RULED_ON = ("prediction_id", "control_id", "prompt_variant_id")
"""The things that a verdict may rule on: an answer, a control or a rewording."""


class Segments:
    """The segments of a run in a folder. For one thread at a time."""

    def __init__(
        self,
        warehouse: Warehouse,
        folder: SharedFolder,
        audit_run_id: str,
        say: Callable[[str], None],
        tables: Collection[str] = ASKED,
    ) -> None:
        self._warehouse, self._folder, self._run = warehouse, folder, audit_run_id
        self._say, self._tables = say, tables
        self._stuck: set[str] = set()

    def waiting(self, names: Sequence[str]) -> list[str]:
        """Filters out the files that were refused before."""
        return [name for name in names if name not in self._stuck]

    def first_of(self, names: Sequence[str]) -> Sequence[str]:
        """Takes the first files to read in parallel, at least one, up to READ_AT_ONCE files and BYTES_AT_ONCE bytes."""
        names = names[:READ_AT_ONCE]
        with ThreadPoolExecutor(READ_AT_ONCE) as pool:
            up_to = accumulate(pool.map(self._folder.size, names))
        return names[: max(1, sum(n_bytes <= BYTES_AT_ONCE for n_bytes in up_to))]

    def read(self, names: Sequence[str]) -> dict[str, Segment]:
        """Reads the rows of some files, by the names of the files; files that may not land are set aside."""
        sound = {}
        with ThreadPoolExecutor(READ_AT_ONCE) as pool:
            for name, content in zip(names, pool.map(self._content, names), strict=True):
                try:
                    sound[name] = self._segment(name, content)
                except BrokenFile as error:
                    self.set_aside(name, error)
        return sound

    def land(self, segments: Sequence[Segment]) -> None:
        """Lands segments that were read, in one transaction."""
        self._warehouse.land(segments)

    def remove(self, names: Sequence[str]) -> None:
        """Removes files."""
        with ThreadPoolExecutor(READ_AT_ONCE) as pool:
            list(pool.map(self._folder.remove, names))

    def set_aside(self, name: str, error: BrokenFile) -> None:
        """Moves a file away and says so. A file that cannot be moved is ignored from now on."""
        why = str(error).partition(name.rpartition("/")[2])[2].lstrip(": ")
        try:
            self._say(f"set aside, not landed: {self._folder.set_aside(name)}: {why}")
        except WarehouseError as stuck:
            self._stuck.add(name)
            self._say(f"{name} is not landed: {why}; {str(stuck).partition(': ')[2]}")

    def _content(self, name: str) -> bytes | BrokenFile:
        try:
            return self._folder.read(name) or b""
        except BrokenFile as error:
            return error

    def _segment(self, name: str, content: bytes | BrokenFile) -> Segment:
        # raises BrokenFile for a file with anything but rows that the run awaits
        if isinstance(content, BrokenFile):
            raise content
        table = table_of(name.rpartition("/")[2])
        if table not in self._tables:
            msg = f"{name}: no process hands over rows of '{table}'"
            raise BrokenFile(msg)
        rows = rows_of(content, table, name)
        for problem in self._problems(table, rows):
            msg = f"{name} {problem}"
            raise BrokenFile(msg)
        return table, rows

    def _problems(self, table: str, rows: pl.DataFrame) -> Iterator[str]:
        if self._state is None:
            yield f"is of run {self._run}, which this warehouse does not have"
        for number, audit_run_id in enumerate(rows["audit_run_id"], 1):
            if audit_run_id != self._run:
                yield f"line {number}: a row of another run than {self._run}"
        for column in TABLES[table].required:
            if rows[column].null_count():
                yield f"line {_first(rows[column].is_null())}: no {column}"
        yield from self._impossible(table, rows)
        look = {"predictions": self._unplanned, "engines": self._unopened, "verdicts": self._unawaited}.get(table)
        if look is not None:
            yield from look(rows)
        if self._state == "complete" and self._adds(table, rows):
            yield f"has rows that run {self._run}, which is complete, does not have"

    def _impossible(self, table: str, rows: pl.DataFrame) -> Iterator[str]:
        began = self._began_at or now()
        for name, sql_type in TABLES[table].sql_types.items():
            column = rows[name]
            if sql_type in ("integer", "double") and (odd := (column < 0) | ~column.cast(pl.Float64).is_finite()).any():
                yield f"line {_first(odd)}: a {name} that is negative or infinite"
            if sql_type == "timestamp" and (odd := (column < began - ODD_CLOCK) | (column > now() + ODD_CLOCK)).any():
                yield f"line {_first(odd)}: a {name} before the run began, or still to come"

    def _unplanned(self, rows: pl.DataFrame) -> Iterator[str]:
        columns = ["prediction_id", "request_sha256", *CELL]
        for number, (asked_id, request, *cell) in enumerate(rows.select(columns).iter_rows(), 1):
            model_id, task_id, variant_id, sample_id, repetition = cell
            if not self._plan.has(model_id, task_id, variant_id, sample_id, repetition):
                yield f"line {number}: a cell that run {self._run} does not ask"
            if asked_id != prediction_id(self._run, model_id, variant_id, sample_id, repetition, request):
                yield f"line {number}: a prediction_id that is not of its cell and request"
        with self._warehouse.write() as con:
            incoming = rows.select("prediction_id", *CELL).to_arrow()  # noqa: F841 - read by name in SQL
            twice = con.execute(sql("warehouse", "asked_otherwise"), {"run": self._run}).fetchall()
        if twice:
            yield f"has prediction {twice[0][0]}, whose cell has another answer"

    def _unopened(self, rows: pl.DataFrame) -> Iterator[str]:
        for number, model_id in enumerate(rows["model_id"], 1):
            if model_id not in self._plan.asked:
                yield f"line {number}: a model that run {self._run} does not ask"

    def _unawaited(self, rows: pl.DataFrame) -> Iterator[str]:
        columns = ["verdict_id", "judge_id", *RULED_ON, "repetition", "ask", "request_sha256"]
        for number, (asked_id, judge_id, *rest) in enumerate(rows.select(columns).iter_rows(), 1):
            judged, sent = rest[: len(RULED_ON)], rest[len(RULED_ON) :]
            if asked_id != verdict_id(self._run, judge_id, next(filter(None, judged), ""), *sent):
                yield f"line {number}: a verdict_id that is not of its ruling and request"
        with self._warehouse.write() as con:
            incoming = rows.select("judge_id", "other_prediction_id", *RULED_ON).to_arrow()  # noqa: F841 - read by name in SQL
            unknown = con.execute(sql("warehouse", "unknown_rulings"), {"run": self._run}).fetchall()
        if unknown:
            yield f"has a verdict of judge '{unknown[0][0]}' on '{unknown[0][1]}', which the run does not ask"

    @cached_property
    def _plan(self) -> _Plan:
        return _Plan(self._warehouse, self._run)

    @property
    def _state(self) -> str | None:
        return None if self._of_run is None else self._of_run["state"]

    @property
    def _began_at(self) -> datetime | None:
        return None if self._of_run is None else self._of_run["started_at"]

    @cached_property
    def _of_run(self) -> Row | None:
        query = "select state, started_at from raw.audit_runs where audit_run_id = $run"
        return next(iter(self._warehouse.read(query, run=self._run)), None)

    def _adds(self, table: str, rows: pl.DataFrame) -> bool:
        # rolled back: nothing is landed
        with self._warehouse.write() as con:
            con.execute("begin")
            n_new = insert_new(con, table, rows)
            con.execute("rollback")
        return n_new > 0


def replay(warehouse: Warehouse, say: Callable[[str], None] = lambda _: None) -> int:
    """Lands the rows that killed runs left in the spool; returns how many there were."""
    folder = shared_folder(warehouse.places.spool)
    found = [name.partition("/") for name in folder.names()]
    n_rows = 0
    for run in sorted({run for run, _, _ in found}):
        names = sorted((name for each, _, name in found if each == run and is_segment(name)), key=number_of)
        segments = Segments(warehouse, folder.under(run), run, say, SPOOLED)
        for _, files in groupby(names, key=number_of):
            landed = segments.read(list(files))
            segments.land(list(landed.values()))
            segments.remove(list(landed))
            n_rows += sum(rows.height for _, rows in landed.values())
    for empty in (*warehouse.places.spool.glob("*/"), warehouse.places.spool):
        with contextlib.suppress(OSError):  # somebody put another file there
            empty.rmdir()
    return n_rows


def _first(is_odd: pl.Series) -> int:
    # line numbers begin at 1
    return (is_odd.fill_null(value=False).arg_max() or 0) + 1


class _Plan:
    # the cells that a run asks, as it landed them before it asked
    def __init__(self, warehouse: Warehouse, audit_run_id: str) -> None:
        def read(query: str) -> list[Row]:
            return warehouse.read(query, run=audit_run_id)

        models = read("select model_id from raw.models where audit_run_id = $run")
        samples = read("select task_id, sample_id from raw.samples where audit_run_id = $run")
        variants = read("select * from raw.prompt_variants where audit_run_id = $run")
        grid = read("select * from raw.grid where audit_run_id = $run")
        judges = read("select 'judge:' || judge_id as judge_id from raw.judges where audit_run_id = $run")
        self._models = {row["model_id"] for row in models}
        # the models that a run asks, as `raw.engines` names them
        self.asked = self._models | {row["judge_id"] for row in judges}
        self._samples = {(row["task_id"], row["sample_id"]) for row in samples}
        self._variants = {row["prompt_variant_id"]: row for row in variants}
        self._dealt = {(row["prompt_variant_id"], row["repetition"]): frozenset(row["sample_ids"]) for row in grid}

    def has(self, model_id: str, task_id: str, variant_id: str, sample_id: str, repetition: int) -> bool:
        variant = self._variants.get(variant_id)
        if variant is None or variant["task_id"] != task_id or repetition not in variant["repetitions"]:
            return False
        dealt = self._dealt.get((variant_id, repetition))
        is_dealt = (task_id, sample_id) in self._samples and (dealt is None or sample_id in dealt)
        return is_dealt and model_id in (variant["model_ids"] or self._models)
