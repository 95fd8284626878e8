"""Reads a file by `--map`, which names the column, or the place inside one, for each value; guesses such a map too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.exchange.recorded_runs.formats.answers import text_of
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.formats.source import head_of
from promptaudit.registry.errors import DataError, UsageError, nearest
from promptaudit.registry.tables import ESCAPED, escape, read_text_table

_PART = re.compile(r"""\s*(?P<name>\w+)\s*=\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<path>[^,]*))\s*(?:,|$)""")
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
_ROWS = (".jsonl", ".ndjson", ".json")
MAX_SHOWN = 40  # columns that a message lists
MAX_DEPTH = 3
_PLACE = re.compile(r"\*|-?[0-9]{1,6}")
# kinds of parts of a message that are no answer
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
# what other programs call it, the likeliest first
SYNONYMS: Mapping[str, Sequence[str]] = {
    "model": ("model", "model_name", "model_id", "modelname", "engine", "provider", "llm", "deployment"),
    "sample_id": (
        "sample_id",
        "id",
        "doc_id",
        "question_id",
        "example_id",
        "instance_id",
        "qid",
        "uid",
        "idx",
        "index",
        "key",
        "row",
    ),
    "completion": (
        "completion",
        "response",
        "output",
        "prediction",
        "generated_text",
        "model_output",
        "model_answer",
        "generation",
        "raw_output",
        "result",
        "answer",
        "reply",
        "pred",
        "predicted",
        "annotation",
    ),
    "gold_label": (
        "gold_label",
        "gold",
        "label",
        "target",
        "ground_truth",
        "expected",
        "reference",
        "truth",
        "correct_answer",
    ),
    "input": ("input", "question", "text", "query", "sentence"),
}


def read_map(text: str, names: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Parses `model=engine,sample_id=meta.id,task='x'` into a column and False, or a constant and True, for each name.

    Raises UsageError naming a part that is not of this form, or a name that no recorded prediction has.
    """
    mapping: dict[str, tuple[str, bool]] = {}
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or (part["path"] is not None and not part["path"].strip()):
            msg = f"--map {text[place : place + 80]!r}: NAME=COLUMN or NAME='CONSTANT' is wanted"
            raise UsageError(msg)
        if part["name"] not in names:
            msg = f"--map {part['name']}={nearest(part['name'], names) or ': one of ' + ', '.join(names)}"
            raise UsageError(msg)
        if part["name"] in mapping:
            msg = f"--map {part['name']}: it is named twice, by {mapping[part['name']][0][:60]!r} and {part[0].strip()[:80]!r}"
            raise UsageError(msg)
        constant = part["single"] if part["single"] is not None else part["double"]
        mapping[part["name"]] = (part["path"].strip(), False) if constant is None else (constant, True)
        place = part.end()
    return mapping


def mapped_frame(path: Path, mapping: Mapping[str, tuple[str, bool]]) -> pl.DataFrame:
    """Reads the mapped columns of a file as text. Raises DataError naming a column that no row has."""
    rows, columns = _rows(path)
    values: dict[str, list[Any]] = {name: [] for name in mapping}
    flags = []
    found: set[str] = set()
    for _, row in rows:
        is_escaped = row.get(ESCAPED) is True
        for name, (source, is_constant) in mapping.items():
            value, is_there = (source, True) if is_constant else _at(row, source)
            if is_there:
                found.add(name)
            text, broken = (None, False) if value is None else escape(text_of(value) or "")
            is_escaped = is_escaped or (broken and name == "completion")
            values[name].append(text)
        flags.append(is_escaped)
    for name, (source, _) in mapping.items():
        if flags and name not in found:
            msg = f"{path}: --map {name}={source}: no column '{source}'{nearest(source, columns)}; {shown_columns(columns)}"
            raise DataError(msg)
    frame = pl.DataFrame({name: pl.Series(name, each, dtype=pl.String) for name, each in values.items()})
    return frame.with_columns(pl.Series(ESCAPED, flags, dtype=pl.Boolean))


def _rows(path: Path) -> tuple[Iterator[tuple[int, dict[str, Any]]], list[str]]:
    if path.suffix.lower() in _TABLES:
        frame = read_text_table(path)
        first = frame.head(1).to_dicts()
        return enumerate(frame.iter_rows(named=True), start=1), _leaves(first[0]) if first else frame.columns
    _refuse_other_tables(path)
    return rows_of(path), columns_of(path)


def _refuse_other_tables(path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix not in _ROWS and not head_of(path).lstrip().startswith((b"[", b"{")):
        what = suffix or "a file without a suffix"
        msg = f"{path}: {what} is not read; write it as .csv, .tsv, .jsonl, .json, .xlsx or .parquet"
        raise DataError(msg)


def columns_of(path: Path) -> list[str]:
    """Lists the columns of a file's first row, with the places inside nested ones as a.b."""
    if path.suffix.lower() in _TABLES:
        first = read_text_table(path).head(1).to_dicts()
        return _leaves(first[0]) if first else []
    for _, row in rows_of(path):
        return _leaves(row)
    return []


def _leaves(row: Mapping[str, Any], before: str = "", depth: int = 1) -> list[str]:
    names = []
    for name, value in row.items():
        inner = _parsed(value)
        if isinstance(inner, dict) and inner and depth < MAX_DEPTH:
            names += _leaves(inner, f"{before}{name}.", depth + 1)
        elif name != ESCAPED:
            names.append(f"{before}{name}")
    return names


def _at(row: Mapping[str, Any], path: str) -> tuple[Any, bool]:
    # A column of that very name comes first. A part of a list is named by its place, from its end by -1, or by `*`, the
    # first that has what follows. Where the part at a place is what a model thought, or a part of another type, the
    # first that has what follows is meant.
    return (row[path], True) if path in row else _inside(row, path.split("."))


def _inside(value: Any, parts: Sequence[str]) -> tuple[Any, bool]:  # noqa: ANN401 - whatever a column holds
    if not parts:
        return value, True
    value, (part, *rest) = _parsed(value), parts
    if isinstance(value, Mapping):
        return _inside(value[part], rest) if part in value else (None, False)
    if not isinstance(value, list) or not _PLACE.fullmatch(part):
        return None, False
    if part != "*" and not -len(value) <= int(part) < len(value):
        return None, False
    at = [] if part == "*" else [value[int(part)]]
    are_parts = part == "*" or (isinstance(at[0], Mapping) and ("type" in at[0] or _is_thought(at[0])))
    for item in (*at, *(value if are_parts else ())):
        if not _is_thought(item):
            found, is_there = _inside(item, rest)
            if is_there:
                return found, True
    return None, False


def _is_thought(part: Any) -> bool:  # noqa: ANN401
    return isinstance(part, Mapping) and (part.get("thought") is True or part.get("type") in _THOUGHTS)


def _parsed(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def shown_columns(columns: Sequence[str]) -> str:
    """Lists the columns for a message, the first MAX_SHOWN of many."""
    more = f" and {len(columns) - MAX_SHOWN} more" if len(columns) > MAX_SHOWN else ""
    return f"its columns: {', '.join(name[:60] for name in columns[:MAX_SHOWN])}{more}"


def guessed_map(columns: Sequence[str], names: Sequence[str]) -> str:
    """Guesses a map and writes it as options to give: `--model NAME --map sample_id=id,completion=response`."""
    parts, taken, model = [], set(), ""
    for name in names:
        guess = _guess(name, [column for column in columns if column not in taken])
        if guess is not None:
            taken.add(guess)
            parts.append(f"{name}={guess}")
        elif name == "model":
            model = "--model NAME "
        elif name in ("sample_id", "completion"):
            parts.append(f"{name}=COLUMN")
    return f"{model}--map {','.join(parts)}"


def _guess(name: str, columns: Sequence[str]) -> str | None:
    last = {column: column.rsplit(".", 1)[-1].casefold() for column in columns}
    for word in SYNONYMS[name]:
        for column, folded in last.items():
            if word in (folded, column.casefold()):
                return column
    for word in SYNONYMS[name][1:]:
        for column, folded in last.items():
            if len(word) > 3 and word in folded:  # noqa: PLR2004 - `id` stands in too many words
                return column
    return None
