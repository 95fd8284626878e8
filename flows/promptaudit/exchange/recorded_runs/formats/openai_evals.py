"""Reads what `oaieval` records: a line for the eval, one for each event of a sample, and a final report.

A `match` says what was expected and which text was matched. Without it the first `sampling` of a sample is the answer,
since later ones may be a grader's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import Answer, RecordedAnswers, Texts, number_of, text_of
from promptaudit.exchange.recorded_runs.formats.source import first_row, json_lines
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

PROGRAM = "oaieval"


def is_of_openai_evals(head: bytes) -> bool:
    """Checks that the first line of a file is the specification of an eval."""
    spec = first_row(head).get("spec") if b'"completion_fns"' in head else None
    return isinstance(spec, dict) and "completion_fns" in spec


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a record. Raises DataError naming file and row."""
    spec: Mapping[str, Any] = {}
    sampled: dict[str, tuple[str, Mapping[str, Any]]] = {}
    ruled: dict[str, Mapping[str, Any]] = {}
    for number, row in json_lines(path):
        spec = spec or row.get("spec") or {}
        data, sample = row.get("data"), text_of(row.get("sample_id"))
        if sample is None or not isinstance(data, dict):
            continue
        if row.get("type") == "sampling":
            sampled.setdefault(sample, (f"{path} row {number}", data))
        elif row.get("type") in ("match", "raw_sample"):
            ruled[sample] = {**ruled.get(sample, {}), **data}
    try:
        model, task = str(spec["completion_fns"][0]), str(spec.get("base_eval") or spec["eval_name"])
        answers = [
            _answer(place, model, task, sample, data, ruled.get(sample, {}))
            for sample, (place, data) in sampled.items()
        ]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        msg = f"{path}: not a record of oaieval: {type(error).__name__} {str(error)[:80]}"
        raise DataError(msg) from None
    return RecordedAnswers(program=PROGRAM, answers=Texts(path).take(answers), task=task)


def _answer(
    place: str, model: str, task: str, sample: str, data: Mapping[str, Any], ruled: Mapping[str, Any]
) -> Answer:
    said, prompt = data.get("sampled"), data.get("prompt")
    ruled_on = ruled.get("sampled")  # of several samplings (a model may think in one) the matched one counts
    said = ruled_on if isinstance(ruled_on, str) else said[0] if isinstance(said, list) and said else said
    asked = [each for each in prompt if isinstance(each, dict)] if isinstance(prompt, list) else []
    sent = "\n\n".join(text_of(each.get("content")) or "" for each in asked) if asked else text_of(prompt)
    question = next((text_of(each.get("content")) for each in reversed(asked) if each.get("role") == "user"), sent)
    expected = ruled.get("expected", ruled.get("ideal"))
    golds = [text for each in (expected if isinstance(expected, list) else [expected]) if (text := text_of(each))]
    return Answer(
        place=place,
        model=model,
        task=task,
        sample_id=sample,
        sample_key=as_json([sample, question]),
        completion=text_of(said) if said != [] else None,
        prompt=sent,
        fields={"input": question or ""},
        gold_label=golds[0] if len(golds) == 1 else None,
        references=golds,
        input=question,
        score=number_of(ruled.get("correct")),
    )
