"""Guesses which columns of a user's file are the text, the gold label and the id."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.registry.cards import composed
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.tables import ESCAPED, read_text_table

GOLD_NAMES = ("gold_label", "gold", "label", "target", "class", "category", "answer", "sentiment", "y")
ID_NAMES = ("id", "sample_id", "key", "uid", "index")
INPUT_NAMES = ("input", "text", "question", "sentence", "prompt", "content", "review", "body")
MOST_LABELS = 50
MOST_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumns:
    """The columns of a file by their purpose, the labels of its gold column in order, and the names of all columns.

    `fields` are the fields of an extraction, as a card has them; there are no labels then. `notes` are for the person
    whose file it is.
    """

    input: str
    gold_label: str | None
    id: str | None
    labels: tuple[str, ...]
    n_rows: int
    names: tuple[str, ...]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Says what was found, for the person whose file it is."""
        key = "the row's number as id" if self.id is None else f"id '{self.id}'"
        if self.fields:
            fields = ", ".join(itertools.starmap(_described, self.fields.items()))
            return f"{self.n_rows} rows; input '{self.input}', {key}; fields: {fields}"
        gold = "no gold label" if self.gold_label is None else f"gold label '{self.gold_label}'"
        return (
            f"{self.n_rows} rows; input '{self.input}', {gold}, {key}; labels: {', '.join(map(_quoted, self.labels))}"
        )


def columns_of(path: Path, labels: Sequence[str] = (), put_in: Collection[str] = ()) -> DataColumns:
    """Finds the columns of a CSV, JSONL or Parquet file: by their usual names, else by what they hold.

    The gold label is a column of few distinct values, the text the longest on average, the id a column without a
    repeated value. `labels` are the label set; without them it is what the gold column holds. Of columns among
    `put_in`, which a prompt puts in, one is the text and none is the gold label.

    Raises:
        DataError: the file cannot be read.
        UsageError: it has no rows or no text, or no label set can be found in it.
    """
    frame = read_rows(path)
    put = [column for column in frame.columns if column in put_in]
    gold = _gold(frame.drop(put), labels, _key(frame))
    text, key = text_and_key(frame, path, () if gold is None else (gold,), put)
    found = tuple(labels) or (() if gold is None else tuple(_values(frame, gold)))
    if len(found) < 2:  # noqa: PLR2004 - one label is no question
        beside = " but those that the prompt puts in" if put else ""
        msg = f"{path}: no column{beside} holds a few labels, of {_listed(frame)}; name them: --labels yes,no"
        raise UsageError(msg)
    return DataColumns(
        input=text, gold_label=gold, id=key, labels=found, n_rows=frame.height, names=tuple(frame.columns)
    )


def read_rows(path: Path) -> pl.DataFrame:
    """Reads the rows of a file. Raises DataError where it cannot be read, UsageError where it has none."""
    frame = read_text_table(path)
    if frame.is_empty():
        msg = f"{path}: no rows"
        raise UsageError(msg)
    return frame.select(column for column in frame.columns if column != ESCAPED)


def text_and_key(
    frame: pl.DataFrame, path: Path, gold: Collection[str], put_in: Collection[str]
) -> tuple[str, str | None]:
    """Finds the columns of the text and of the id (None without one). Raises UsageError if the text has none."""
    key = _key(frame)
    put = [column for column in frame.columns if column in put_in]
    texts = [column for column in put or frame.columns if column != key and column not in gold]
    if not texts:
        msg = f"{path}: no column is left for the text, only {_listed(frame)}"
        raise UsageError(msg)
    usual = _named(frame.select(texts), INPUT_NAMES)
    return (usual[0] if usual else max(texts, key=lambda name: frame[name].str.len_chars().mean() or 0)), key


def _key(frame: pl.DataFrame) -> str | None:
    return next((each for each in _named(frame, ID_NAMES) if frame[each].n_unique() == frame.height), None)


def split_labels(text: str | None, option: str = "--labels") -> tuple[str, ...]:
    """Splits `a,b`, or a JSON list, which may hold labels with commas. Raises UsageError for a broken list."""
    if not text:
        return ()
    if not text.lstrip().startswith("["):
        return tuple(label.strip() for label in text.split(","))
    try:
        return tuple(str(label) for label in json.loads(text, parse_int=str, parse_float=str))
    except (ValueError, RecursionError) as error:
        msg = f"{option} {text[:80]}: not a JSON list: {error}"
        raise UsageError(msg) from None


def _listed(frame: pl.DataFrame) -> str:
    shown = ", ".join(repr(name[:80]) for name in frame.columns[:MOST_SHOWN])
    return shown if frame.width <= MOST_SHOWN else f"{shown}, ..."


def _described(name: str, field: Mapping[str, Any]) -> str:
    # the column is named where it differs from the field
    rule = f"one of {', '.join(map(_quoted, field['values']))}" if "values" in field else field["rule"]
    rule += ", in lists" if field.get("list") else ""
    return f"{_quoted(name)} ({rule}{', of column ' + repr(field['gold'][:80]) if 'gold' in field else ''})"


def _quoted(label: str) -> str:
    return label if label.replace(" ", "").isalnum() else repr(label[:80])


def _named(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    return [column for name in names for column in frame.columns if column.strip().casefold() == name]


def _values(frame: pl.DataFrame, column: str) -> list[str]:
    # each value once, trimmed, in the order of the rows; blanks are left out
    values = frame[column].drop_nulls().str.strip_chars().unique(maintain_order=True)
    return list({composed(value): value for value in reversed(values.to_list()) if value}.values())[::-1]


def _gold(frame: pl.DataFrame, labels: Sequence[str], key: str | None) -> str | None:
    usual = _named(frame, GOLD_NAMES)
    others = [column for column in reversed(frame.columns) if column not in usual]
    for column in (*usual, *others):
        values = _values(frame, column)
        if column == key or not values:
            continue
        if labels and set(map(composed, values)) <= set(map(composed, labels)):
            return column
        if not labels and 1 < len(values) <= min(MOST_LABELS, frame.height // 2):
            return column
    own = set(map(composed, labels))
    wrong = next((value for column in usual for value in _values(frame, column) if composed(value) not in own), None)
    if labels and wrong is not None:
        msg = f"--labels: column '{usual[0]}' also holds {wrong[:80]!r}{nearest(wrong, labels)}"
        raise UsageError(msg)
    return None
