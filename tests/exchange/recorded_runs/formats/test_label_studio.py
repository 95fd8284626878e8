"""An export of Label Studio: predictions are answers, and a label is gold where the annotators agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.exchange.recorded_runs.read_files import read_recordings
from promptaudit.registry.errors import DataError


def region(value: object, kind: str = "choices", name: str = "tone") -> dict[str, Any]:
    inside = {"choices": "choices", "textarea": "text"}.get(kind, kind)
    return {"from_name": name, "to_name": "text", "type": kind, "value": {inside: value}}


def task(number: int, *annotations: dict[str, Any], said: object = "good", **prediction: Any) -> dict[str, Any]:
    predictions = [{"model_version": "m1", "result": [region([said])], **prediction}]
    return {
        "id": number,
        "data": {"text": f"text {number}"},
        "annotations": list(annotations),
        "predictions": predictions,
    }


def by(value: str, **fields: Any) -> dict[str, Any]:
    return {"completed_by": 1, "result": [region([value])], **fields}


def exported(folder: Path, *tasks: dict[str, Any]) -> Path:
    (folder / "project-1.json").write_text(json.dumps(list(tasks), indent=1))
    return folder / "project-1.json"


def test_predictions_are_answers_and_gold_is_what_annotators_agree_on(tmp_path: Path) -> None:
    path = exported(
        tmp_path,
        task(1, by("good"), by("good")),
        task(2, by("good"), by("bad"), said="bad"),
        task(3, by("good"), by("bad", ground_truth=True)),
        task(4, by("good"), by("bad", was_cancelled=True)),
        task(5),
    )
    read = read_recordings([path])
    wanted = ("model", "task", "sample_id", "completion", "gold_label", "input")
    assert read.frame.select(wanted).rows() == [
        ("m1", "tone", "1", "good", "good", "text 1"),
        ("m1", "tone", "2", "bad", None, "text 2"),
        ("m1", "tone", "3", "good", "bad", "text 3"),
        ("m1", "tone", "4", "good", "good", "text 4"),
        ("m1", "tone", "5", "good", None, "text 5"),
    ]
    disagree = "'tone': annotators disagree on 1 of 4 samples, which have no gold label; sample '2' has ['bad', 'good']"
    assert read.notes[:2] == (f"{path}: read as an export of Label Studio: 5 answers", f"{path}: {disagree}")


def test_each_question_is_a_task_and_what_is_no_answer_is_counted(tmp_path: Path) -> None:
    result = [
        region(["good"]),
        region(4, "rating", "stars"),
        region(["fine"], "textarea", "why"),
        region(["PER"], "labels", "names"),
        region(["a", "b"], name="topics"),
    ]
    read = read_recordings([exported(tmp_path, task(1, result=result))])
    assert read.frame.select("task", "completion").rows() == [("tone", "good"), ("stars", "4"), ("why", "fine")]
    assert [note.partition(": ")[2] for note in read.notes[1:3]] == [
        "1 regions of type labels are not read",
        "1 regions of type choices with 2 values are not read",
    ]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (
            [task(1, by("good"), model_version=None)],
            "row 1: a prediction without 'model_version'; name the model: --model",
        ),
        ([{**task(1, by("good")), "predictions": []}], "without predictions: its annotations say what is right"),
        ([task(1), {"id": 2, "data": {}, "annotations": [3]}], "row 2: not a task of Label Studio: AttributeError"),
        ([task(1), {"id": 2, "annotations": []}], "row 2: not a task of Label Studio: KeyError 'data'"),
        ([task(1, result=[{"type": "choices", "value": None}])], "row 1: not a task of Label Studio: AttributeError"),
    ],
    ids=["no model", "no predictions", "no annotation", "no data", "no value"],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, tasks: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DataError, match=rf"project-1\.json.*{message}"):
        read_recordings([exported(tmp_path, *tasks)])


def test_what_cannot_be_read_agrees_with_nothing(tmp_path: Path) -> None:
    part = {"from_name": "tone", "type": "choices", "value": {"choices": ["bad"], "start": 0, "end": 3}}
    path = exported(
        tmp_path,
        task(1, by("good"), {"result": [region(["good", "bad"])]}),
        task(2, by("good"), {"result": [part]}),
        task(3, by("good"), result=[region(["good"]), region(["bad"])]),  # a question that is answered twice
        task(4, {"result": [region(4.0, "rating")]}, result=[region(4, "rating")]),
    )
    read = read_recordings([path])
    wanted = ("sample_id", "completion", "gold_label")
    assert read.frame.select(wanted).rows() == [("1", "good", None), ("2", "good", None), ("4", "4", "4")]
    assert "annotators disagree on 2 of 4 samples" in read.notes[1]
    assert any("of a part of the sample are not read" in note for note in read.notes)
