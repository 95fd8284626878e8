"""Infers what a recorded task asks for where neither a card nor --labels says it: options, labels or an open answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from promptaudit.exchange.recorded_runs.formats.answers import PROGRAM_SCORE, letters_of
from promptaudit.registry.cards import composed, is_number
from promptaudit.udfs.readers.labels import label
from promptaudit.udfs.spelling import numeral

MAX_LABELS = 50
MAX_LABEL = 100  # characters
_LISTED = 8
_WRAPPED = re.compile(r"^(\*\*|__|[\"'`“„«「]+)(.+?)(?:\*\*|__|[\"'`”“»」]+)\.?$", re.DOTALL)
# below _FEW samples, gold texts that no answer gives are no labels; above _MOST_SPELLINGS gold texts, spellings are not
# compared
_FEW, _MOST_SPELLINGS = 10, 500
KINDS = ("classification", "multiple_choice", "open_ended", "extraction")
_PLACE = "(recorded)"
FRESH_READER = "label"
"""Reader of a recorded task where neither a card nor its file nor --reader names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredTask:
    """The fields of a task's card, and a sentence that says what was inferred from what."""

    fields: dict[str, Any]
    note: str


def infer_task(task_id: str, rows: pl.DataFrame) -> InferredTask | None:
    """Infers a task's card from its rows; None for our own rows without options, gold labels and references."""
    declared = _declared(rows)
    if declared is not None:
        return InferredTask(
            fields=declared, note=f"task '{task_id}' is read as the file says: {declared['kind'].replace('_', ' ')}"
        )
    n_options = max((len(each) for each in _lists(rows, "choices")), default=0)
    golds = _texts(rows, "gold_label")
    if n_options > 1 and set(golds) <= set(letters_of(n_options)):
        return _multiple_choice(task_id, rows, n_options)
    labels, source = _labels(rows, golds)
    if labels:
        fields = {"instruction": _PLACE, "data": {"path": _PLACE}, "labels": labels, "reader": FRESH_READER}
        level = next(iter(_texts(rows, "level")), "nominal")
        shown = ", ".join(labels[:_LISTED]) + (", …" if len(labels) > _LISTED else "")
        note = f"task '{task_id}' is read as classification by the labels {shown}, {source}; --labels says others"
        return InferredTask(fields={**fields, "level": level}, note=note)
    fields = {"kind": "open_ended", "templates": _PLACE, "data": {"path": _PLACE, "references": [_PLACE]}}
    if golds or next(iter(_lists(rows, "references")), []):
        note = f"task '{task_id}' is read as open ended: its answers are compared with references by their words (token F1)"
        return InferredTask(fields=fields, note=note)
    if programs := _texts(rows, "program"):
        program = programs[0]
        is_scored = rows[PROGRAM_SCORE].null_count() < rows.height
        what = f"what {program} scored (judge:{program}) is all that is scored" if is_scored else "nothing is scored"
        note = f"task '{task_id}' is read as open ended: no answer is told to be right, so {what}; --labels says its labels"
        return InferredTask(fields=fields, note=note)
    return None


def _declared(rows: pl.DataFrame) -> dict[str, Any] | None:
    # the task that the columns of an export name; a classification without labels is not believed to be one
    kind = next(iter(_texts(rows, "kind")), None)
    labels = next(iter(_lists(rows, "labels")), [])
    if kind is None or (kind == "classification" and not labels):
        return None
    fields: dict[str, Any] = {"kind": kind}
    if kind == "classification":
        fields |= {"instruction": _PLACE, "data": {"path": _PLACE}, "labels": labels}
        fields |= {"level": next(iter(_texts(rows, "level")), "nominal"), "reader": _reader(rows)}
    elif kind == "multiple_choice":
        fields |= {"templates": _PLACE, "data": {"path": _PLACE, "options": [_PLACE]}, "labels": labels}
    elif kind == "extraction":
        reader = _reader(rows)
        of_reader = reader.get("fields", {}) if isinstance(reader, dict) else {}
        fields |= {"instruction": _PLACE, "data": {"path": _PLACE}, "fields": of_reader}
    else:
        fields |= {"templates": _PLACE, "data": {"path": _PLACE, "references": [_PLACE]}}
    fields |= {name: text for name in ("refusal_pattern", "token_f1_threshold") for text in _texts(rows, name)[:1]}
    scoring = [] if kind == "extraction" else next(iter(_lists(rows, "scoring")), [])
    return {**fields, "scoring": scoring} if scoring else fields


def _reader(rows: pl.DataFrame) -> Any:  # noqa: ANN401 - a name, or an object
    # code of others is never called: a reader of that kind becomes `exact`
    text = next(iter(_texts(rows, "reader")), f'"{FRESH_READER}"')
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "exact" if isinstance(value, dict) and "python" in value else value


def _multiple_choice(task_id: str, rows: pl.DataFrame, n_options: int) -> InferredTask:
    letters = letters_of(n_options)
    fields: dict[str, Any] = {
        "kind": "multiple_choice",
        "templates": _PLACE,
        "data": {"path": _PLACE, "options": [_PLACE]},
        "labels": letters,
    }
    weighed = ""
    if "option_loglikelihoods" in rows.columns and rows["option_loglikelihoods"].null_count() < rows.height:
        fields["scoring"] = ["option_letter", "option_loglikelihood", "option_loglikelihood_per_character"]
        weighed = ", and by the log-likelihoods of the options"
    note = f"task '{task_id}' is read as multiple choice, by the letters {letters[0]} to {letters[-1]}{weighed}"
    return InferredTask(fields=fields, note=note)


def _labels(rows: pl.DataFrame, golds: list[str]) -> tuple[list[str], str]:
    listed = _lists(rows, "labels")
    if listed:
        labels = list(dict.fromkeys(label.strip() for each in listed for label in each if label.strip()))
        if 1 < len(labels) <= MAX_LABELS and set(map(composed, golds)) <= set(map(composed, labels)):
            return labels, "which the file lists"
    golds += [text for each in _lists(rows, "references") for text in each] if golds else []
    if any(len(gold) > MAX_LABEL for gold in golds) or len(golds) > _MOST_SPELLINGS:
        return [], ""
    one = _of_one_spelling(golds, set(rows["completion"].drop_nulls().str.strip_chars().unique()))
    labels = list(dict.fromkeys(one.values()))
    n_samples = rows["sample_id"].n_unique()
    if 1 < len(labels) <= MAX_LABELS and 2 * len(labels) <= max(n_samples, 4) and not _is_prose(rows, labels):
        in_order = sorted(labels, key=float) if all(is_number(gold) for gold in labels) else labels
        other = [f"{text[:40]!r} is {name[:40]!r}" for text, name in one.items() if composed(text) != composed(name)]
        return in_order, "its gold labels" + (f" ({', '.join(other[:_LISTED])})" if other else "")
    return [], ""


def _is_prose(rows: pl.DataFrame, labels: list[str]) -> bool:
    # a program's targets of several words are answers of a few samples, which recur by chance
    are_few = rows["sample_id"].n_unique() < _FEW and bool(_texts(rows, "program"))
    if not are_few or all(len(each.split()) == 1 for each in labels):
        return False
    said = rows["completion"].drop_nulls().unique().to_list()
    return not any(label(text, tuple(labels)) for text in said)


def _of_one_spelling(golds: list[str], said: set[str]) -> dict[str, str]:
    # Gold texts that are one label in another spelling become the first of them: "yes." is "Yes", 1.0 is 1. Two that
    # answers keep apart stay two, as mW and MW, unless one is the other with a capital, as Yes and yes.
    first: dict[str, list[str]] = {}
    one = {}
    for gold in dict.fromkeys(golds):
        known = first.setdefault(spelling_of(gold), [])
        is_word = len(gold) > 2 or gold.casefold() == "no"  # noqa: PLR2004
        is_capital = [is_word and gold in (name.lower(), name.capitalize(), name.upper()) for name in known]
        names = [
            name
            for name, is_same in zip(known, is_capital, strict=True)
            if is_same or name.casefold() != gold.casefold() or not {name, gold} <= said
        ]
        one[gold] = names[0] if names else gold
        if not names:
            known.append(gold)
    return one


def spelling_of(text: str) -> str:
    """Reduces spellings of one label to one text: its number, or its letters without case, quotes and final stop."""
    bare = _WRAPPED.sub(r"\2", composed(text).strip()).strip().removesuffix(".").strip()
    return numeral(bare) or " ".join(bare.casefold().split())


def _texts(rows: pl.DataFrame, column: str) -> list[str]:
    # blanks are left out, and of texts that differ only in Unicode's forms the first is kept
    if column not in rows.columns:
        return []
    texts = rows[column].drop_nulls().str.strip_chars().unique(maintain_order=True).to_list()
    first: dict[str, str] = {}
    for text in filter(None, texts):
        first.setdefault(composed(text), text)
    return list(first.values())


def _lists(rows: pl.DataFrame, column: str) -> list[list[str]]:
    lists = []
    for text in _texts(rows, column):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            lists.append(value)
    return lists
