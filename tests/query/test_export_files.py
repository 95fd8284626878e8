"""Where an export may go, and how many rows of DOVE there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from promptaudit.flows.query.dove_rows import dove_rows
from promptaudit.flows.query.export_files import FORMS, SCHEMA, refuse_filled
from promptaudit.models_registry.errors import DataError, UsageError
from tests.support.dove import faults, without_nulls


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
        "task": "t",
        "sample_id": "s",
        "strategy": "simple",
        "variant_index": 0,
        "is_sensitive": False,
        "has_texts": True,
        **dict.fromkeys(("model_card", "sampling", "context_tokens", "template", "data")),
        "sample_index": 7,
        "scoring_method": "option_letter",
        "score": 0.0,
    }
    return {**row, "labels": ["A", "B"], "choices": ["x", "y"], "gold_label": "A", "completion": "B", **changes}


def only_row(**changes: Any) -> dict[str, Any]:
    """The row of one answer, as the schema wants it."""
    (row,) = without_nulls(dove_rows([answer(**changes)], {}).to_dicts())
    assert faults(row) == []
    return cast("dict[str, Any]", row)


def test_an_answer_without_text_score_or_gold_is_no_row_of_dove_and_not_counted(tmp_path: Path) -> None:
    lacking = [answer(completion=None), answer(score=None), answer(gold_label=None)]
    assert FORMS["dove"](tmp_path, [lacking, [answer(), *lacking]], "run") == 1
    with pytest.raises(
        DataError, match="run r: none of its answers has a completion and a score, which rows of DOVE need"
    ):
        FORMS["dove"](tmp_path, [lacking], "r")


def test_a_row_of_dove_has_the_options_as_they_were_shown() -> None:
    row = only_row(option_order=[1, 0], setting='{"option_order": "reversed"}', option_signs=["1", "2"])
    asked = row["instance"]["classification_fields"]
    assert asked["choices"] == [{"id": "1", "text": "y"}, {"id": "2", "text": "x"}]
    assert asked["ground_truth"] == {"id": "2", "text": "x"}
    assert row["evaluation"]["ground_truth"] == "2"
    dimensions = row["prompt_config"]["dimensions"]
    assert (dimensions["mc_choices_order"]["method"], dimensions["mc_enumerator"]) == ("reversed", "numbers")


def test_options_without_signs_go_by_letters() -> None:
    row = only_row(choices=["x", "y", "z"], labels=["A", "B", "C"], option_signs=["A", "B"], gold_label="C")
    assert row["instance"]["classification_fields"]["ground_truth"] == {"id": "C", "text": "z"}


def test_withheld_texts_are_named_as_what_is_lacking(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="texts of sensitive tasks are left out unless --text full asks for them"):
        FORMS["dove"](tmp_path, [[answer(completion=None, has_texts=False)]], "r")


def test_a_template_says_separator_and_examples() -> None:
    examples = [{"question": "Which?", "answer": "A"}]
    template = {"text": "{examples}{question}{options}", "between": " ", "enumerators": "roman", "examples": examples}
    row = only_row(template=json.dumps(template), option_signs=["i", "ii"], instruction=template["text"])
    dimensions = row["prompt_config"]["dimensions"]
    assert dimensions["mc_separator"] == "\\s"
    assert dimensions["mc_enumerator"] == "roman"
    assert (dimensions["shots"], dimensions["demonstrations"]) == (1, examples)
    assert dimensions["instruction_phrasing"] == {"name": "instruction 0", "text": template["text"]}
    assert "mc_enumerator" not in only_row(option_signs=["x)", "y)"])["prompt_config"]["dimensions"]


def test_a_model_is_told_by_its_card_and_by_what_its_answers_took() -> None:
    card = {
        "engine": "vllm_server",
        "model": "org/name",
        "vllm": {"max_model_len": 2048, "dtype": "float16", "revision": "main"},
    }
    sent = {"temperature": 0.5, "max_completion_tokens": 8, "stop": ["\n"]}
    model = only_row(model_card=json.dumps(card), sampling=json.dumps(sent), context_tokens=90)["model"]
    assert model["configuration"] == {"context_window": 2048, "hf_path": "org/name", "revision": "main"}
    assert model["inference_settings"] == {
        "quantization": {"bit_precision": "float16", "method": "None"},
        "generation_args": {"use_vllm": True, "temperature": 0.5, "max_tokens": 8, "stop_sequences": ["\n"]},
    }
    card = {"engine": "openai_api", "model": "org/name"}
    model = only_row(model_card=json.dumps(card), context_tokens=90)["model"]
    assert model["configuration"] == {"context_window": 90}
    assert model["inference_settings"]["quantization"] == {"bit_precision": "none", "method": "None"}
    assert only_row(model_card="{}")["model"]["configuration"] == {"context_window": 1}


def test_a_sample_of_the_hub_has_its_place_there() -> None:
    data = {"hub": "cais/mmlu", "split": "validation"}
    place = only_row(data=json.dumps(data), sample_id="31")["instance"]["sample_identifier"]
    assert (place["hf_repo"], place["hf_split"], place["hf_index"]) == ("cais/mmlu", "validation", 31)
    for changes in ({}, {"data": json.dumps({**data, "id": "key"}), "sample_id": "31"}):
        assert only_row(**changes)["instance"]["sample_identifier"]["hf_index"] == 7


def test_labels_are_options_of_a_classification_and_an_open_question_has_none() -> None:
    row = only_row(kind="classification", choices=None, labels=["yes", "no"], gold_label="no", completion="yes")
    asked = row["instance"]["classification_fields"]
    assert (row["prompt_config"]["prompt_class"], asked["ground_truth"]) == (
        "MultipleChoice",
        {"id": "no", "text": "no"},
    )
    assert [each["text"] for each in asked["choices"]] == ["yes", "no"]
    row = only_row(
        kind="open_ended",
        choices=None,
        labels=None,
        gold_label=None,
        references=["Paris"],
        scoring_method="token_f1",
        score=0.5,
    )
    assert row["instance"]["task_type"] == "generation"
    assert (row["evaluation"]["ground_truth"], row["evaluation"]["score"]) == ("Paris", 0.5)
