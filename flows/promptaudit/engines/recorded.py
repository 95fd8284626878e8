"""Reads answers from a file of predictions made elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.engines import Answer, Engine, Request
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError, DataError, nearest
from promptaudit.registry.registry import Entry
from promptaudit.registry.tables import ESCAPED, read_text_table

COLUMNS = (
    "sample_id",
    "completion",
    "model",
    "task",
    "strategy",
    "variant_index",
    "paraphrase_temperature",
    "repetition",
)
_SURROGATE = re.compile(r"\\u(d[89a-f][0-9a-f]{2})")
Cell = tuple[str | None, str, int, float | None, str, int]


class RecordedEngine(Engine):
    """Answers from a file of recorded completions.

    A cell that the file does not hold lands as an error, so that its run can end. A file that is completed later makes
    another plan, and so another run, which reads every cell again.

    Columns: `sample_id`, `completion` and, where they apply, `model` (only the rows of the card's model count), `task`,
    `strategy`, `variant_index`, `paraphrase_temperature`, `repetition`. Without a column: every model, every task,
    `simple`, 0, no temperature, 1. Every completion is text as written, "N/A", "None" and "" too; a null is no answer.
    Raises CardError for a path that leaves the registry, DataError for a file that cannot be used or contradicts
    itself.
    """

    def __init__(self, card: ModelCard, entry: Entry) -> None:
        self.max_connections = card.limits.max_connections
        self._model = card.model
        path = _inside(entry, card.path or "")
        self._has_tasks, self._answers = _answers(read_text_table(path, card.path), card)

    async def answer(self, request: Request) -> Answer:
        """Looks up the recorded completion of the request's cell; the answer is an error if the file has none."""
        task = request.task_id if self._has_tasks else None
        temperature = request.paraphrase_temperature
        cell = (task, request.strategy, request.variant_index, temperature, request.sample_id, request.repetition)
        completion = self._answers.get(cell)
        if completion is None:
            return Answer(error=f"{self._model}: the file has no answer for this cell")
        return Answer(completion=completion, served_model=self._model)


def _inside(entry: Entry, path: str) -> Path:
    root = entry.root.resolve()
    resolved = (root / path).resolve()
    if not resolved.is_relative_to(root):
        msg = f"{entry.file}: path '{path}' leaves the registry"
        raise CardError(msg)
    return resolved


def _answers(table: pl.DataFrame, card: ModelCard) -> tuple[bool, dict[Cell, str]]:
    name = card.path
    for column in ("sample_id", "completion"):
        if column not in table.columns:
            msg = f"{name}: no column '{column}'{nearest(column, table.columns)}"
            raise DataError(msg)
    table = table.with_row_index("row", offset=1)
    if "model" in table.columns:
        models = table["model"].unique().drop_nulls().to_list()
        table = table.filter(pl.col("model") == card.model)
        if table.is_empty():
            msg = f"{name}: no row of model '{card.model}'{nearest(card.model, models)}"
            raise DataError(msg)
    answers: dict[Cell, str] = {}
    wanted = [column for column in (*COLUMNS, ESCAPED) if column in table.columns]
    for row in table.select("row", *wanted).iter_rows(named=True):
        if row["completion"] is None:
            continue
        cell = _cell(row, f"{name} row {row['row']}")
        completion = row["completion"]
        if row.get(ESCAPED):
            # the reader escaped lone surrogates, which landing does once more and marks
            completion = _SURROGATE.sub(lambda match: chr(int(match[1], 16)), completion)
        if answers.setdefault(cell, completion) != completion:
            msg = f"{name} row {row['row']}: a second, different completion of sample '{row['sample_id']}' in the same cell"
            raise DataError(msg)
    return "task" in table.columns, answers


def _cell(row: Mapping[str, Any], where: str) -> Cell:
    if row["sample_id"] is None:
        msg = f"{where}: no sample_id"
        raise DataError(msg)
    temperature = row.get("paraphrase_temperature")
    return (
        row.get("task"),
        row.get("strategy") or "simple",
        _whole(row.get("variant_index"), 0, 0, f"{where}: variant_index"),
        None if temperature in (None, "") else _finite(temperature, f"{where}: paraphrase_temperature"),
        row["sample_id"],
        _whole(row.get("repetition"), 1, 1, f"{where}: repetition"),
    )


def _whole(text: str | None, default: int, least: int, where: str) -> int:
    if text in (None, ""):
        return default
    number = _finite(text, where)
    # pandas writes whole numbers as 1.0 as soon as one is missing
    if number != int(number) or number < least:
        msg = f"{where} is a whole number from {least}, found '{text}'"
        raise DataError(msg)
    return int(number)


def _finite(text: str | None, where: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        msg = f"{where} is a number, found '{text}'"
        raise DataError(msg)
    return number
