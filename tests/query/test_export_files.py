"""Where an export may go, and how many rows of DOVE there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.query.dove_rows import dove_rows
from flows.query.export_files import FORMS, SCHEMA, refuse_filled
from models_registry.errors import UsageError


def test_the_folder_that_the_command_runs_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"--to \.: it is the folder that the command runs in; name a new or an empty one"
    ):
        refuse_filled(Path())
    refuse_filled(tmp_path / "new")


def answer(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        **dict.fromkeys(SCHEMA),
        "prediction_id": "p",
        "model": "m",
        "kind": "multiple_choice",
        "is_sensitive": False,
    }
    return {**row, "labels": ["A", "B"], "choices": ["x", "y"], "gold_label": "A", "completion": "B", **changes}


def test_an_answer_without_a_completion_is_no_row_of_dove_and_not_counted(tmp_path: Path) -> None:
    rows = [answer(), answer(completion=None), answer(completion=None, is_sensitive=True)]
    assert FORMS["dove"](tmp_path, [rows], "run") == 2


def test_a_row_of_dove_has_the_options_as_they_were_shown() -> None:
    (row,) = dove_rows([answer(option_order=[1, 0], setting='{"option_order": "reversed"}')]).to_dicts()
    asked = row["instance"]["classification_fields"]
    assert asked["choices"] == [{"id": "A", "text": "y"}, {"id": "B", "text": "x"}]
    assert asked["ground_truth"] == {"id": "B", "text": "x"}
    assert row["prompt_config"]["dimensions"]["choices_order"]["method"] == "reversed"
