"""Guesses which columns of a user's file are the text, the gold label and the id."""

from __future__ import annotations

import itertools
import json
import re
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import polars as pl

from promptaudit.cards.label_words import truth_of
from promptaudit.registry.cards import composed
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.tables import ESCAPED, read_text_table
from promptaudit.registry.task_cards import Kind
from promptaudit.system.display.figures import shown
from promptaudit.udfs.scoring.fields import is_list, items_of

KINDS: tuple[str, ...] = get_args(Kind)

GOLD_NAMES = ("gold_label", "gold", "label", "target", "class", "category", "answer", "sentiment", "y")
REFERENCE_NAMES = (
    "reference",
    "references",
    "reference_answer",
    "expected",
    "expected_output",
    "ideal",
    "solution",
    "answer_1",
    "reference_1",
)
ANSWER_NAMES = (*REFERENCE_NAMES, "answer")
CHOICE_NAMES = ("correct", "correct_answer", "correct_option")
"""Names of the right option's column, which say of another kind of task whether something is right."""
LABEL_NAMES = ("gold_label", "gold", "label")
"""Names of a column of labels that stands beside answers."""
ID_NAMES = ("id", "sample_id", "key", "uid", "index")
INPUT_NAMES = ("input", "text", "question", "sentence", "prompt", "content", "review", "body")
OPTION_LISTS = ("options", "choices")
MOST_LABELS = 50
MOST_SHOWN = 12
NONE = "-"
"""What a person says for a column that there is not."""
_OF_ID = re.compile(
    r"(?:^|[\W_])(?:id|uid|uuid|key)$|[a-z]ID$|Id$|^nr$|(?:order|ticket|case|row)[\W_]*(?:nr|no|number|nummer)$",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"phone|telefon|mobil|fax|iban|ssn|passport", re.IGNORECASE)
_CODE = re.compile(r"(?=\S*\d)[\w./:#-]{1,64}")
_DECIMAL = re.compile(r"[-+]?\d*[.,]\d+|[-+]?\d+")
_OPTION = re.compile(r"(option|choice|answer|)[ _-]?([a-j1-9])", re.IGNORECASE)
FEWEST_LETTERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumns:
    """The columns that a person names by their purpose, and the kind of the task. None is guessed, "-" is for no column."""

    input: str | None = None
    gold: str | None = None
    id: str | None = None
    kind: str | None = None


GUESSED = NamedColumns()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumns:
    """The columns of a file by their purpose, the labels of its gold column in order, and the names of all columns.

    `fields` are the fields of an extraction, as a card has them; there are no labels then, nor for an open question, whose
    gold column has its reference answers. `gold_labels` maps what the gold column holds to labels where the two differ.
    `notes` are for the person whose file it is.
    """

    input: str
    gold_label: str | None
    id: str | None
    labels: tuple[str, ...]
    n_rows: int
    names: tuple[str, ...]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kind: Kind = "classification"
    options: tuple[str, ...] = ()
    gold_labels: Mapping[str, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    """The distinct reference answers."""

    @property
    def sentence(self) -> str:
        """Says what was found, for the person whose file it is."""
        key = "the row's number as id" if self.id is None else f"id {_name(self.id)}"
        text = _name(self.input)
        if self.fields:
            fields = ", ".join(itertools.starmap(_described, self.fields.items()))
            return f"{self.n_rows} rows; input {text}, {key}; fields: {fields}"
        if self.kind == "open_ended":
            gold = "no reference answers" if self.gold_label is None else f"reference answers {_name(self.gold_label)}"
            return f"{self.n_rows} rows; input {text}, {gold}, {key}; open questions"
        gold = "no gold label" if self.gold_label is None else f"gold label {_name(self.gold_label)}"
        labels = ", ".join(map(_quoted, self.labels))
        if self.kind == "multiple_choice":
            options = ", ".join(repr(name[:80]) for name in self.options)
            return f"{self.n_rows} rows; input {text}, {gold}, {key}; options: {options}, under {labels}"
        return f"{self.n_rows} rows; input {text}, {gold}, {key}; labels: {labels}"


def columns_of(
    path: Path, labels: Sequence[str] = (), put_in: Collection[str] = (), named: NamedColumns = GUESSED
) -> DataColumns:
    """Finds the columns of a CSV, JSONL, Parquet or XLSX file: as named, by their usual names, else by what they hold.

    The gold label is a column of few distinct values, the text the longest on average, the id a column without a
    repeated value. `labels` are the label set; without them it is what the gold column holds. Where no column holds a few
    labels, the questions are open; where some are options, they are to be chosen from. Of columns among `put_in`, which a
    prompt puts in, one is the text and none is the gold label.

    Raises:
        DataError: the file cannot be read.
        UsageError: it has no rows or no text, a named column is not there, or the kind does not fit.
    """
    frame = read_rows(path)
    put = [column for column in frame.columns if column in put_in]
    gold, given_text = _named_column(frame, named.gold, "--gold"), _named_column(frame, named.input, "--input")
    if gold is not None and gold == given_text:
        msg = f"--input and --gold: column {_name(gold)} cannot be both the text and the gold label"
        raise UsageError(msg)
    options = () if labels or named.kind not in (None, "multiple_choice") else _options(frame, named.kind, gold)
    key, notes = key_of(frame, named.id, {*put, *options, *filter(None, (given_text, gold))})
    is_labels = named.kind in (None, "classification") and not options
    passed = None
    if gold is None and named.gold != NONE:
        left = frame.drop({*put, *options, *filter(None, (given_text,))})
        gold = _gold(left, labels, key) if is_labels else None
        if gold and not labels and named.kind is None and (answer := _answers(left, key)) is not None:
            gold, passed = answer, gold
        gold = (
            gold
            if gold or labels
            else _usual(left, (*ANSWER_NAMES, *GOLD_NAMES, *(CHOICE_NAMES if options else ())), key)
        )
    given = _values(frame, gold) if gold is not None else []
    kind = named.kind or _kind(labels, options, given, frame.height)
    text = text_of(frame, path, {key, gold, *options}, put, named.input)
    found = DataColumns(
        input=text,
        gold_label=gold,
        id=key,
        labels=tuple(labels) or tuple(_in_order(given)),
        n_rows=frame.height,
        names=tuple(frame.columns),
        notes=tuple(notes),
    )
    if kind == "multiple_choice":
        return _of_choice(frame, path, found, options)
    if kind == "open_ended":
        why = _open(found, named, put, passed)
        return replace(found, kind="open_ended", labels=(), references=tuple(given), notes=(*notes, *why))
    if kind not in KINDS:
        msg = f"--kind {kind[:80]}: no kind of task{nearest(kind, KINDS)}"
        raise UsageError(msg)
    if not 1 < len(found.labels) <= max(MOST_LABELS, len(labels)):
        beside = " but those that the prompt puts in" if put else ""
        msg = (
            f"{path}: no column{beside} holds a few labels, of {_listed(frame)}; name them: --labels yes,no, or the column: "
            "--gold"
        )
        raise UsageError(msg)
    few = _gold(frame.drop({*put, text}), (), key) if labels and gold is None and named.gold is None else None
    if few is not None:
        holds = ", ".join(repr(value[:80]) for value in _values(frame, few)[:MOST_SHOWN])
        notes.append(f"no gold label: column {_name(few)} holds {holds}, which are not these labels")
    are_labels = set(map(composed, given)) <= set(map(composed, labels))
    truth = {} if are_labels else truth_of(labels, given)
    wrong = next((value for value in given if labels and composed(value) not in {*truth, *map(composed, labels)}), None)
    if wrong is not None:
        msg = f"--labels: column {_name(gold or '')} also holds {wrong[:80]!r}{nearest(wrong, labels)}"
        raise UsageError(msg)
    return replace(found, notes=(*notes, *_alike(found.labels)), gold_labels=truth)


def _alike(labels: Sequence[str]) -> list[str]:
    cases = {label.casefold(): [each for each in labels if each.casefold() == label.casefold()] for label in labels}
    return [
        f"labels {' and '.join(map(repr, each))} differ in case alone and stay apart: write one of them in the data"
        for each in cases.values()
        if len(each) > 1
    ]


def _kind(labels: Sequence[str], options: Sequence[str], given: Sequence[str], n_rows: int) -> str:
    if labels:
        return "classification"
    if options:
        return "multiple_choice"
    return "classification" if 1 < len(given) <= _most_labels(n_rows) else "open_ended"


def _most_labels(n_rows: int) -> int:
    return min(MOST_LABELS, n_rows // 2)


def _open(found: DataColumns, named: NamedColumns, put: Sequence[str], passed: str | None) -> list[str]:
    if named.kind is not None:
        return []
    what = f"no column{' but those that the prompt puts in' if put else ''} holds a few labels"
    if found.gold_label is not None:
        what = (
            f"column {_name(found.gold_label)} holds {len(found.labels)} texts in {found.n_rows} rows, not a few labels"
        )
    beside = "" if passed is None else f"; column {_name(passed)} holds a few labels and is passed over"
    return [f"open questions, since {what}{beside}; --labels yes,no or --gold COLUMN asks for labels"]


def _in_order(values: Sequence[str]) -> Sequence[str]:
    # whole numbers by size, else as they come
    return sorted(values, key=int) if values and all(_INTEGER.fullmatch(value) for value in values) else values


_INTEGER = re.compile(r"-?\d{1,9}")


def _options(frame: pl.DataFrame, kind: str | None, gold: str | None) -> tuple[str, ...]:
    # columns named by a sign, or one that holds lists
    found: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        if (match := _OPTION.fullmatch(name.strip())) and name != gold:
            found.setdefault(match[1].casefold(), {})[match[2].casefold()] = name
    for word, columns in found.items():
        left = frame.drop(columns.values())
        values = _values(frame, right) if (right := gold or _usual(left, (*ANSWER_NAMES, *GOLD_NAMES), None)) else None
        is_row = word or (len(columns) >= FEWEST_LETTERS and [*columns] == [*string.ascii_lowercase[: len(columns)]])
        is_asked = word in ("option", "choice") or kind is not None or _are_places(values, len(columns), word)
        if len(columns) > 1 and is_row and is_asked:
            return tuple(columns.values())
    lists = [name for name in _named(frame, OPTION_LISTS) if all(map(is_list, frame[name].drop_nulls()))]
    return tuple(lists[:1])


def _are_places(values: Sequence[str] | None, n_options: int, word: str) -> bool:
    # letters alone may stand without a gold label
    if values is None:
        return not word
    signs = {*string.ascii_uppercase[:n_options], *map(str, range(n_options + 1))}
    return {value.upper() for value in values} <= signs


def _of_choice(frame: pl.DataFrame, path: Path, found: DataColumns, options: Sequence[str]) -> DataColumns:
    if not options:
        msg = f"{path}: no columns are options, of {_listed(frame)}; call them option_a, option_b or choices, a list"
        raise UsageError(msg)
    is_one = len(options) == 1
    n = max(len(items_of(value)) for value in frame[options[0]].drop_nulls()) if is_one else len(options)
    signs = tuple(string.ascii_uppercase[:n])
    if found.gold_label is None:
        return replace(found, kind="multiple_choice", options=tuple(options), labels=signs)
    values = _values(frame, found.gold_label)
    if set(values) <= set(signs):
        known: dict[str, str] = {}
    elif {value.upper() for value in values} <= set(signs):
        known = {value: value.upper() for value in values}
    elif _are_texts(frame, found.gold_label, options):  # before places, since options may be numbers
        return replace(found, kind="multiple_choice", options=tuple(options), labels=signs)
    elif all(_INTEGER.fullmatch(value) for value in values):
        first = 0 if "0" in values else 1
        known = {str(first + place): sign for place, sign in enumerate(signs)}
    else:
        known = {}
    wrong = next((value for value in values if value not in (known or signs)), None)
    if wrong is not None:
        msg = (
            f"--gold: column {_name(found.gold_label)} holds {wrong[:80]!r}, which is neither the letter of an option "
            f"({signs[0]} to {signs[-1]}) nor its place, nor in each row its text; write the letter of the right option"
        )
        raise UsageError(msg)
    counted = (
        [f"column {_name(found.gold_label)} counts options from {min(known)}: {min(known)} is A; check that"]
        if known
        else []
    )
    counted = counted if all(map(str.isdigit, known)) else []
    notes = (*found.notes, *counted)
    return replace(found, kind="multiple_choice", options=tuple(options), labels=signs, gold_labels=known, notes=notes)


def _are_texts(frame: pl.DataFrame, gold: str, options: Sequence[str]) -> bool:
    # whether each row's gold label is the text of one of its options
    def is_text(right: str | None, *given: str | None) -> bool:
        texts = items_of(given[0] or "") if len(given) == 1 else [text or "" for text in given]
        right = composed((right or "").strip())
        return not right or [composed(text.strip()) for text in texts].count(right) == 1

    return all(itertools.starmap(is_text, frame.select(gold, *options).iter_rows()))


def read_rows(path: Path) -> pl.DataFrame:
    """Reads the rows of a file. Raises DataError where it cannot be read, UsageError where it has none."""
    frame = read_text_table(path)
    if frame.is_empty():
        msg = f"{path}: no rows"
        raise UsageError(msg)
    return frame.select(column for column in frame.columns if column != ESCAPED)


def text_of(
    frame: pl.DataFrame, path: Path, taken: Collection[str | None], put_in: Collection[str], named: str | None = None
) -> str:
    """Finds the column of the text: the named one, else one that is not taken. Raises UsageError if there is none."""
    column = _named_column(frame, named, "--input")
    if column is not None:
        return column
    put = [column for column in frame.columns if column in put_in]
    texts = [column for column in put or frame.columns if column not in taken]
    if not texts:
        msg = f"{path}: no column is left for the text, only {_listed(frame)}"
        raise UsageError(msg)
    usual = _named(frame.select(texts), INPUT_NAMES)
    return usual[0] if usual else max(texts, key=lambda name: frame[name].str.len_chars().mean() or 0)


def key_of(frame: pl.DataFrame, named: str | None, taken: Collection[str] = ()) -> tuple[str | None, list[str]]:
    """Finds the column of the id: the named one, else one without a repeated value that is named or looks like one.

    Returns it with a line about there being none. Raises UsageError for a named one that is not unique.
    """
    column = _named_column(frame, named, "--id")
    repeated = None if column is None else _repeated(frame, column)
    if repeated is not None:
        msg = f"--id: column {_name(column or '')} is no id: {repeated}"
        raise UsageError(msg)
    if column is not None or named == NONE:
        return column, []
    usual = _named(frame, ID_NAMES)
    others = {*GOLD_NAMES, *REFERENCE_NAMES, *INPUT_NAMES, *OPTION_LISTS}
    left = [
        name
        for name in frame.columns
        if name not in (*taken, *usual)
        and name.strip().casefold().replace(" ", "_") not in others
        and not _PERSONAL.search(name)
    ]
    called = [name for name in left if _OF_ID.search(name.strip())]
    codes = [name for name in left if _looks_like_codes(frame, name)]
    for name in (*usual, *called, *codes):
        if _repeated(frame, name) is None:
            return name, []
    why = (
        f"column {_name(usual[0])} is none: {_repeated(frame, usual[0])}" if usual else "no column has one for each row"
    )
    return None, [f"no id, since {why}: a row that goes or moves loses its history; --id names a column"]


def _repeated(frame: pl.DataFrame, column: str) -> str | None:
    # says why a column is no id
    values = frame[column].to_list()
    seen: set[str] = set()
    for number, value in enumerate(values, start=1):
        if not value:
            return f"row {number} has none"
        if value in seen:
            return f"{value[:40]!r} stands in two rows"
        seen.add(value)
    return None


def _looks_like_codes(frame: pl.DataFrame, column: str) -> bool:
    # codes with digits, or whole numbers one after the other; a price or a length is no id
    values = [value or "" for value in frame[column]]
    if all(_DECIMAL.fullmatch(value) for value in values):
        numbers = sorted(int(value) for value in values if _INTEGER.fullmatch(value))
        return len(numbers) == len(values) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return all(_CODE.fullmatch(value) for value in values)


def _named_column(frame: pl.DataFrame, name: str | None, option: str) -> str | None:
    if name is None or name == NONE or name in frame.columns:
        return None if name == NONE else name
    found = [column for column in frame.columns if column.strip().casefold() == name.strip().casefold()]
    if not found:
        msg = f"{option}: no column is called '{name[:80]}'{nearest(name, frame.columns)}"
        raise UsageError(msg)
    return found[0]


def _usual(frame: pl.DataFrame, names: Sequence[str], key: str | None) -> str | None:
    return next((name for name in _named(frame, names) if name != key and _values(frame, name)), None)


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
    names = ", ".join(repr(name[:80]) for name in frame.columns[:MOST_SHOWN])
    return names if frame.width <= MOST_SHOWN else f"{names}, ..."


def _described(name: str, field: Mapping[str, Any]) -> str:
    # the column is named where it differs from the field
    rule = f"one of {', '.join(map(_quoted, field['values']))}" if "values" in field else field["rule"]
    rule += ", in lists" if field.get("list") else ""
    return f"{_quoted(name)} ({rule}{', of column ' + repr(field['gold'][:80]) if 'gold' in field else ''})"


def _name(column: str) -> str:
    return f"'{shown(column[:80])}'"


def _quoted(label: str) -> str:
    return label if label.replace(" ", "").isalnum() else repr(label[:80])


def _named(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    return [column for name in names for column in frame.columns if column.strip().casefold().replace(" ", "_") == name]


def _values(frame: pl.DataFrame, column: str) -> list[str]:
    # each value once, trimmed, in the order of the rows; blanks are left out
    values = frame[column].drop_nulls().str.strip_chars().unique(maintain_order=True)
    return list({composed(value): value for value in reversed(values.to_list()) if value}.values())[::-1]


def _answers(frame: pl.DataFrame, key: str | None) -> str | None:
    # the column of answers that are no labels, where none is called a label
    def is_few(name: str) -> bool:
        return len(_values(frame, name)) <= _most_labels(frame.height)

    if any(len(_values(frame, name)) > 1 and is_few(name) for name in _named(frame, LABEL_NAMES)):
        return None
    return next((name for name in _named(frame, ANSWER_NAMES) if name != key and not is_few(name)), None)


def _gold(frame: pl.DataFrame, labels: Sequence[str], key: str | None) -> str | None:
    usual = _named(frame, GOLD_NAMES)
    others = [column for column in reversed(frame.columns) if column not in usual]
    for column in (*usual, *others):
        values = _values(frame, column)
        if column == key or not values:
            continue
        if labels and set(map(composed, values)) <= set(map(composed, labels)):
            return column
        if not labels and 1 < len(values) <= _most_labels(frame.height):
            return column
    for column in (*usual, *others):  # after all columns that hold the labels themselves
        if column != key and truth_of(labels, _values(frame, column)):
            return column
    own = set(map(composed, labels))
    wrong = next((value for column in usual for value in _values(frame, column) if composed(value) not in own), None)
    if labels and wrong is not None:
        msg = f"--labels: column {_name(usual[0])} also holds {wrong[:80]!r}{nearest(wrong, labels)}"
        raise UsageError(msg)
    return None
