"""Reads a JSON export of Label Studio: what models predicted is answers, and what people annotated is right where they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptaudit.flows.recorded_runs.formats.answers import Answer, RecordedAnswers, Texts, text_of
from promptaudit.flows.recorded_runs.formats.rows import rows_of
from promptaudit.flows.recorded_runs.formats.source import first_row
from promptaudit.flows.system.keys import as_json
from promptaudit.models_registry.errors import DataError

PROGRAM = "label_studio"
_VALUES = {"choices": "choices", "rating": "rating", "number": "number", "textarea": "text"}
"""By type of a region, where its value has what was said of the whole sample."""


def is_of_label_studio(head: bytes) -> bool:
    """Returns whether the first row of a list is a task with its annotations."""
    row = first_row(head) if b'"annotations"' in head else {}
    return isinstance(row.get("annotations"), list) and isinstance(row.get("data"), dict)


def as_recorded(path: Path, model: str | None) -> RecordedAnswers:
    """Returns a model's answer to each question about each sample; raises DataError naming file and row."""
    answers: list[Answer] = []
    texts, asked, split, left_out = Texts(path), Counter[str](), dict[str, list[str]](), Counter[str]()
    for number, row in rows_of(path):
        place = f"{path} row {number}"
        try:
            sample = str(row["id"])
            golds = _golds(row["annotations"], left_out)
            for question, said in golds.items():
                asked[question] += 1
                if len(said) > 1:
                    split.setdefault(question, []).append(f"sample {sample[:80]!r} has {sorted(said)!r:.120}")
            answers += texts.take(_answers(place, sample, row, golds, model, left_out))
        except (KeyError, TypeError, AttributeError) as error:
            msg = f"{place}: not a task of Label Studio: {type(error).__name__} {str(error)[:80]}"
            raise DataError(msg) from None
    if not answers:
        msg = f"{path}: an export of Label Studio without predictions: its annotations say what is right, and no model answered"
        raise DataError(msg)
    notes = [
        f"{path}: '{question}': annotators disagree on {len(samples)} of {asked[question]} samples, which have no gold label; "
        f"{samples[0]}"
        for question, samples in split.items()
    ]
    notes += [f"{path}: {n} regions of type {kind[:40]} are not read" for kind, n in left_out.items()]
    return RecordedAnswers(program=PROGRAM, answers=answers, task=path.stem, notes=tuple(notes))


def _golds(annotations: list[Any], left_out: Counter[str]) -> dict[str, set[str]]:
    """Returns by question what was annotated: by the annotation that is the ground truth, else by each that was not skipped."""
    counting = [each for each in annotations if not each.get("was_cancelled")]
    true = [each for each in counting if each.get("ground_truth")]
    golds: dict[str, set[str]] = {}
    for each in true or counting:
        for question, text in _said(each, left_out):
            golds.setdefault(question, set()).add(text)
    return golds


def _answers(
    place: str,
    sample: str,
    row: Mapping[str, Any],
    golds: Mapping[str, set[str]],
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
        for question, text in _said(prediction, left_out):
            gold = golds.get(question, set())
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


def _said(by: Mapping[str, Any], left_out: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yields each question with the one value that was given to the whole sample; counts regions of other types."""
    for region in by.get("result") or []:
        kind = str(region.get("type"))
        value = region["value"].get(_VALUES[kind]) if kind in _VALUES else None
        given = value if isinstance(value, list) else [value]
        text = text_of(given[0]) if len(given) == 1 else None
        if text is None:
            left_out[kind if len(given) == 1 else f"{kind} with {len(given)} values"] += 1
        else:
            yield str(region["from_name"]), text
