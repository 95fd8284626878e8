"""Reads the right answers of files in our own columns: lists of choices, places and texts of a choice, several ones."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from promptaudit.exchange.recorded_runs.formats.answers import LETTERS, letter_of, letters_of, text_of
from promptaudit.registry.cards import composed
from promptaudit.registry.errors import DataError
from promptaudit.registry.tables import escape
from promptaudit.system.keys import as_json

_LISTS = ("choices", "references", "labels")
# characters of a list as Python writes it
_LONGEST_LIST = 20_000
_WITHOUT_COMMA = re.compile(r"'\s+'|\"\s+\"")


def right_answers(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Turns lists into JSON and each gold label into one text, the letter of a choice where there are choices.

    A list of one gold label is that label. Several are references: their samples have no gold label, and their labels
    are among the ones that `labels` lists. For votes, an object of label to number, the label with most counts. Rows of
    other programs and of exports stay as they are.
    """
    notes: list[str] = []
    absent = [pl.col(column).is_null() for column in ("program", "kind") if column in frame.columns]
    is_own = pl.all_horizontal(absent) if absent else pl.lit(True)  # noqa: FBT003
    own = frame.filter(is_own)
    if own.is_empty():
        return frame, notes
    for column in _LISTS:
        if column in own.columns:
            own, unread = _with_lists(own, column)
            notes += unread
    if "gold_label" in own.columns:
        own, several = _one_gold(own)
        notes += several
        if "choices" in own.columns:
            own, lettered = _with_letters(own)
            notes += lettered
    if own.height == frame.height:
        return own, notes
    return pl.concat([own, frame.filter(~is_own)], how="diagonal"), notes


def _with_lists(frame: pl.DataFrame, column: str) -> tuple[pl.DataFrame, list[str]]:
    texts = frame[column].drop_nulls().unique(maintain_order=True).to_list()
    listed = {text: items for text in texts if (items := _items(text)) is not None}
    as_texts = {text: as_json(_texts(items)) for text, items in listed.items()}
    other = next((text for text in texts if text.strip() and text not in listed), None)
    note = f"{frame['file'][0]}: column '{column}': {(other or '')[:60]!r} is no list and is not read"
    return frame.with_columns(pl.col(column).replace(as_texts)), [note] if other is not None else []


def _texts(items: Sequence[Any]) -> list[str]:
    return [text_of(escape(item)[0] if isinstance(item, str) else item) or "" for item in items]


def _items(text: str) -> Sequence[Any] | None:
    # not an array as numpy prints it, without commas
    text = text.strip()
    if not text.startswith(("[", "(")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > _LONGEST_LIST or _WITHOUT_COMMA.search(text):
            return None
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    is_list = isinstance(value, list | tuple) and not any(isinstance(item, list | dict | tuple) for item in value)
    return value if is_list else None


def _votes(text: str) -> Mapping[str, float] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
        if not isinstance(value, dict) or not value or any(isinstance(n, bool) for n in value.values()):
            return None
        return {escape(name)[0]: float(n) for name, n in value.items()}
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _one_gold(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    # the answers show whether lists and objects of numbers hold labels
    golds = frame["gold_label"].drop_nulls().unique(maintain_order=True).to_list()
    said = frame["completion"].drop_nulls().str.strip_chars()
    are_lists = 2 * said.str.contains("[", literal=True).sum() > len(said)  # then the answer itself is a list
    votes = {gold: counted for gold in golds if (counted := _votes(gold)) is not None}
    voted = {name.casefold() for counted in votes.values() for name in counted}
    are_votes = 2 * said.str.to_lowercase().is_in(list(voted)).sum() > len(said)
    one: dict[str, str | None] = {}
    several: dict[str, str] = {}
    for gold in golds:
        items = None if are_lists else _items(gold)
        if gold in votes and are_votes:
            best = [name for name, n in votes[gold].items() if n == max(votes[gold].values())]
            one[gold] = best[0] if len(best) == 1 else None
        elif items:
            texts = list(dict.fromkeys(text for each in _texts(items) if (text := each.strip())))
            if texts:
                one[gold] = texts[0] if len(texts) == 1 else None
            if len(texts) > 1:
                several[gold] = as_json(texts)
    if not one:
        return frame, []
    gold = pl.col("gold_label")
    listed = gold.replace_strict(several, default=None, return_dtype=pl.String)
    known = pl.col("references") if "references" in frame.columns else pl.lit(None, dtype=pl.String)
    n_several = frame.filter(gold.is_in(list(several)))["sample_id"].n_unique()
    frame = frame.with_columns(
        pl.coalesce(known, listed).alias("references"),
        gold.replace(one).alias("gold_label"),
    )
    notes = []
    if n_several:
        notes.append(
            f"{n_several} samples have several right labels in 'gold_label': to a classification they have no gold label, "
            "and accuracy is of the others"
        )
    if votes and are_votes:
        notes.append(
            "gold labels that are counts of votes are the label with most of them; where two have, there is none"
        )
    return frame, notes


def _with_letters(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    notes = list[str]()
    if "task" not in frame.columns:
        return _letters_of_task(frame, "")
    parts = []
    for (task,), rows in frame.with_row_index("_place").group_by(["task"], maintain_order=True):
        part, more = _letters_of_task(rows, f"task '{task}': ")
        parts.append(part)
        notes += more
    return pl.concat(parts).sort("_place").drop("_place"), notes


def _letters_of_task(rows: pl.DataFrame, named: str) -> tuple[pl.DataFrame, list[str]]:
    pairs = rows.select("gold_label", "choices").drop_nulls().unique(maintain_order=True).rows()
    golds = [(gold, gold.strip(), [str(item) for item in _items(choices) or ()], choices) for gold, choices in pairs]
    golds = [each for each in golds if each[1]]
    if not golds or not all(1 < len(options) <= len(LETTERS) for *_, options, _ in golds):
        return rows, []
    if all(gold in letters_of(len(options)) for _, gold, options, _ in golds):
        return rows, []
    if not _are_letters(rows, max(len(options) for *_, options, _ in golds)):
        return rows, []
    letters, how = _letters(rows, [(gold, options) for _, gold, options, _ in golds])
    if letters is None:
        return rows, []
    keys = [f"{gold}\0{choices}" for gold, _, _, choices in golds]
    key = pl.col("gold_label") + "\0" + pl.col("choices")
    found = key.replace_strict(dict(zip(keys, letters, strict=True)), default=None, return_dtype=pl.String)
    note = f"{named}gold labels are read as {how} of a choice: {golds[0][1][:40]!r} is {letters[0]}"
    return rows.with_columns(pl.coalesce(found, "gold_label").alias("gold_label")), [note]


def _letters(rows: pl.DataFrame, golds: Sequence[tuple[str, Sequence[str]]]) -> tuple[list[str] | None, str]:
    by_text = [letter_of(gold, options, by_text=True) for gold, options in golds]
    if None not in by_text:
        texts = [composed(gold) in {composed(option.strip()) for option in options} for gold, options in golds]
        return [letter or "" for letter in by_text], "the text" if any(texts) else "the letter"
    if not all(gold.isdecimal() and gold.isascii() and len(gold) < 4 for gold, _ in golds):  # noqa: PLR2004
        return None, ""
    places = [(int(gold), len(options)) for gold, options in golds]
    begins = [begin for begin in (0, 1) if all(begin <= place < size + begin for place, size in places)]
    if len(begins) > 1:
        msg = f"{rows['file'][0]}: gold_label: places of choices, of which none is 0 and none the last; write letters from A"
        raise DataError(msg)
    if not begins:
        return None, ""
    letters = [letters_of(size)[place - begins[0]] for place, size in places]
    return letters, f"the place, counted from {begins[0]},"


def _are_letters(rows: pl.DataFrame, n_options: int) -> bool:
    # an answer is by letter if it is one alone, one that punctuation follows, or one behind "answer"
    last = letters_of(n_options)[-1]
    signs = f"[A-{last}]"
    alone, first = rf"^[\W_]*(?:{signs}|{signs.lower()})[\W_]*$", rf"^[\W_]*{signs}\s*[).:,\]*]"
    pattern = rf"{alone}|{first}|(?i:answer)\W{{1,4}}(?:is\W{{1,4}})?{signs}\b"
    said = rows["completion"].drop_nulls().str.strip_chars()
    return bool(len(said)) and 2 * said.str.contains(pattern).sum() > len(said)
