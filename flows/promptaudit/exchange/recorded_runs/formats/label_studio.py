"""Reads a JSON export of Label Studio: predictions are answers, and annotations are right where people agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import Answer, RecordedAnswers, Texts, text_of
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.formats.source import first_row
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

PROGRAM = "label_studio"
# by type of a region, the key of its value for the whole sample
_VALUES = {"choices": "choices", "rating": "rating", "number": "number", "textarea": "text"}


def is_of_label_studio(head: bytes) -> bool:
    """Checks that the first row of a list is a task with its annotations."""
    row = first_row(head) if b'"annotations"' in head else {}
    return isinstance(row.get("annotations"), list) and isinstance(row.get("data"), dict)


def as_recorded(path: Path, model: str | None) -> RecordedAnswers:
    """Reads a model's answer to each question about each sample. Raises DataError naming file and row."""
    answers: list[Answer] = []
    texts, asked, split, left_out = Texts(path), Counter[str](), dict[str, list[str]](), Counter[str]()
    for number, row in rows_of(path):
        place = f"{path} row {number}"
        try:
            sample = _name_of(row["id"])
            golds = _golds(row["annotations"], left_out)
            for question, said in golds.items():
                asked[question] += 1
                if len(said) > 1:
                    given = sorted(each or "what cannot be read" for each in said)
                    split.setdefault(question, []).append(f"sample {sample[:80]!r} has {given!r:.120}")
            answers += texts.take(_answers(place, sample, row, golds, model, left_out))
        except (KeyError, TypeError, AttributeError) as error:
            msg = f"{place}: not a task of Label Studio: {type(error).__name__} {str(error)[:80]}"
            raise DataError(msg) from None
    unread = [f"{n} regions of type {kind[:40]} are not read" for kind, n in left_out.items()]
    if not answers:
        msg = f"{path}: an export of Label Studio without predictions: its annotations say what is right, and no model answered"
        raise DataError("; ".join([msg, *unread]))
    notes = [
        f"{path}: '{question}': annotators disagree on {len(samples)} of {asked[question]} samples, which have no gold label; "
        f"{samples[0]}"
        for question, samples in split.items()
    ]
    notes += [f"{path}: {each}" for each in unread]
    return RecordedAnswers(program=PROGRAM, answers=answers, task=path.stem, notes=tuple(notes))


def _name_of(task_id: object) -> str:
    if isinstance(task_id, int | str):
        return str(task_id)
    msg = f"its id is {task_id!r:.40}"
    raise TypeError(msg)


def _golds(annotations: list[Any], left_out: Counter[str]) -> dict[str, set[str | None]]:
    # The annotation that is the ground truth counts, else each that was not skipped. None stands for what cannot be
    # read, which agrees with nothing.
    counting = [each for each in annotations if not each.get("was_cancelled")]
    true = [each for each in counting if each.get("ground_truth")]
    golds: dict[str, set[str | None]] = {}
    for each in true or counting:
        for question, text in _said(each, left_out).items():
            golds.setdefault(question, set()).add(text)
    return golds


def _answers(
    place: str,
    sample: str,
    row: Mapping[str, Any],
    golds: Mapping[str, set[str | None]],
    model: str | None,
    left_out: Counter[str],
) -> Iterator[Answer]:
    data = {name: text_of(value) or "" for name, value in row["data"].items()}
    shown = next(iter(data.values())) if len(data) == 1 else as_json(data)
    for prediction in row.get("predictions") or []:
        named = model or text_of(prediction.get("model_version"))
        if not named:
            msg = f"{place}: a prediction without 'model_version'; name the model: --model NAME"
            raise DataError(msg)
        for question, text in _said(prediction, left_out).items():
            gold = golds.get(question, set())
            if text is None:
                continue
            yield Answer(
                place=place,
                model=named,
                task=question,
                sample_id=sample,
                sample_key=as_json([sample, data]),
                completion=text,
                gold_label=next(iter(gold)) if len(gold) == 1 else None,
                input=shown,
            )


def _said(by: Mapping[str, Any], left_out: Counter[str]) -> dict[str, str | None]:
    # Several values, parts of the sample, and a question that is answered twice cannot be read. They and regions of
    # other types are counted.
    said: dict[str, str | None] = {}
    for region in by.get("result") or []:
        kind = str(region.get("type"))
        if kind not in _VALUES:
            left_out[kind] += 1
            continue
        value = region["value"]
        given, question = value.get(_VALUES[kind]), str(region["from_name"])
        given = given if isinstance(given, list) else [given]
        text = text_of(_whole(given[0])) if len(given) == 1 and value.keys() <= {_VALUES[kind]} else None
        if text is None or question in said:
            n_values = f" with {len(given)} values" if len(given) != 1 else ""
            left_out[f"{kind}{n_values or (' of a part of the sample' if len(value) > 1 else '')}"] += 1
        said[question] = None if question in said else text
    return said


def _whole(value: object) -> object:
    # 4.0 is 4, as people write it
    return int(value) if isinstance(value, float) and value.is_integer() else value
