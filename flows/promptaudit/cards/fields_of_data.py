"""Guesses the rule of each field of an extraction from its column's values, and which column is the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.cards.answer_format import fields_of_columns
from promptaudit.cards.task_of_data import (
    GUESSED,
    ID_NAMES,
    INPUT_NAMES,
    DataColumns,
    NamedColumns,
    key_of,
    read_rows,
    text_of,
)
from promptaudit.prompts.messages import Messages
from promptaudit.registry.cards import ALL_FIELDS
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.field_cards import MAX_FIELDS
from promptaudit.udfs.scoring.fields import EMPTY, canonical_value, is_list, items_of

MOST_VALUES = 20
"""Distinct values up to which a column is a choice among them, where each stands three times on average."""
LONG_WORDS = 6
"""Words on average from which a column holds texts, which are right where they share enough words."""
# what no number has: a word, and the zero that begins a code
_AS_TEXT = re.compile(r"[^\W\d_]{4,}|^0\d")
_DAY_AND_MONTH = re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{4}")
NESTED = "column '{}' holds objects, or lists of such, which no rule compares: it is no field"
UNCLEAR = "field '{}': its dates, as 03/04/2024, may be two, so they are compared as texts; write YYYY-MM-DD for the rule date"


FEWEST_FIELDS = 2
"""Columns that a prompt's JSON has to name to be taken for fields: one alone may be the label's."""


def fields_asked_for(path: Path, messages: Messages, put_in: Collection[str]) -> tuple[str, ...]:
    """Finds the fields of a prompt's JSON that are columns of a file, in any case. Empty below FEWEST_FIELDS.

    Columns that the prompt puts in, and columns called like an id or a text, do not count. Raises as
    `columns_of_fields` does.
    """
    others = {*ID_NAMES, *INPUT_NAMES}
    columns = [column for column in read_rows(path).columns if column not in put_in and column.casefold() not in others]
    asked = "\n".join(text for role, text in messages if role != "assistant")
    found = fields_of_columns(asked, columns, [text for role, text in messages if role == "assistant"])
    return tuple(found) if len(found) >= FEWEST_FIELDS else ()


def columns_of_fields(
    path: Path, names: Sequence[str], put_in: Collection[str] = (), named: NamedColumns = GUESSED
) -> DataColumns:
    """Finds the columns of a CSV, JSONL, Parquet or XLSX file for fields. Their gold values are in the columns `names`.

    Names match columns in any case. Columns of objects, and of lists of objects or lists, are left out, and a note says
    so. Of columns among `put_in`, which a prompt puts in, one is the text. Raises DataError for a file that cannot be
    read, UsageError for one without rows, a text or one of the columns, and for more fields than a task may have.
    """
    frame = read_rows(path)
    columns = {name: _column(name, frame.columns) for name in dict.fromkeys(names)}
    if ALL_FIELDS in columns:
        msg = f"--fields: no field is called '{ALL_FIELDS}', which is all of them together"
        raise UsageError(msg)
    nested = [name for name, column in columns.items() if _is_nested(_values(frame[column]))]
    singles = {name: column for name, column in columns.items() if name not in nested}
    if not 0 < len(singles) <= MAX_FIELDS:
        msg = f"--fields: a task has 1 to {MAX_FIELDS} fields without objects, and these are {len(singles)}"
        raise UsageError(msg)
    key, of_key = key_of(frame, named.id, set(columns.values()))
    text = text_of(frame, path, {key, *columns.values()}, put_in, named.input)
    fields = {
        name: {**rule_of(frame[column]), **({} if column == name else {"gold": column})}
        for name, column in singles.items()
    }
    unclear = [
        name for name, body in fields.items() if body["rule"] != "date" and _may_be_dates(_values(frame[columns[name]]))
    ]
    return DataColumns(
        input=text,
        gold_label=None,
        id=key,
        labels=(),
        n_rows=frame.height,
        names=tuple(frame.columns),
        fields=fields,
        kind="extraction",
        notes=(
            *of_key,
            *(NESTED.format(name[:80]) for name in nested),
            *(UNCLEAR.format(name[:80]) for name in unclear),
        ),
    )


def _column(name: str, columns: Sequence[str]) -> str:
    # the same case counts first
    found = name if name in columns else next((each for each in columns if each.casefold() == name.casefold()), None)
    if found is None:
        msg = f"--fields: no column is called '{name[:80]}'{nearest(name, columns)}"
        raise UsageError(msg)
    return found


def rule_of(column: pl.Series) -> Mapping[str, Any]:
    """Finds the rule of a column as a card has it: what all its values are, else a choice of few, else texts."""
    values = _values(column)
    if values and all(map(is_list, values)):
        items = [item for value in values for item in items_of(value) if item not in (None, "")]
        return {
            **_rule_of([str(item).lower() if isinstance(item, bool) else str(item) for item in items]),
            "list": True,
        }
    return _rule_of(values)


def _rule_of(values: Sequence[str]) -> Mapping[str, Any]:
    if not values:
        return {"rule": "exact"}
    if _are_all(values, "date"):  # 20240305 is a number too
        return {"rule": "date"}
    if not any(_AS_TEXT.search(value) for value in values) and _are_all(values, "number"):
        return {"rule": "number"}
    distinct: dict[str, str] = {}
    for value in values:
        distinct.setdefault(value.casefold(), value)
    if len(distinct) <= min(MOST_VALUES, len(values) // 3):
        return {"rule": "one_of", "values": list(distinct.values())}
    is_long = sum(len(value.split()) for value in values) >= LONG_WORDS * len(values)
    return {"rule": "token_f1"} if is_long else {"rule": "exact"}


def _values(column: pl.Series) -> list[str]:
    return [value.strip() for value in column.drop_nulls().to_list() if value.strip()]


def _is_nested(values: Sequence[str]) -> bool:
    # objects of JSON, or lists of which some hold objects or lists
    is_object = [value.startswith("{") and isinstance(items_of(f"[{value}]")[0], dict) for value in values]
    lists = [items_of(value) for value in values if is_list(value)]
    has_deeper = any(isinstance(item, dict | list) for items in lists for item in items)
    return bool(values) and sum(is_object) + len(lists) == len(values) and (any(is_object) or has_deeper)


def _may_be_dates(values: Sequence[str]) -> bool:
    # all values are dates, and some may be two dates
    return bool(values) and all(_DAY_AND_MONTH.fullmatch(value) or _are_all([value], "date") for value in values)


def _are_all(values: Sequence[str], rule: str) -> bool:
    return all(canonical_value(value, {"rule": rule}) not in (None, EMPTY) for value in values)
