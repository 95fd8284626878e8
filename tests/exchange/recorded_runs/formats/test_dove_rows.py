"""Rows of DOVE in both spellings, with texts, messages and tables: what varies in their prompts is known by kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.check_rows import typed
from promptaudit.exchange.recorded_runs.read_files import read_recordings
from promptaudit.registry.errors import DataError
from tests.support.dove import CHOICES, choice_row, faults, table_row

OLDER = {"mc_enumerator": "enumerator", "mc_separator": "separator", "mc_choices_order": "choices_order"}
EXAMPLES = [{"question": f"Which is {n}?", "choices": [{"id": "A", "text": "x"}], "answer": "A"} for n in range(2)]
VARIED: dict[str, dict[str, Any]] = {
    "original": {},
    "wording": {"phrasing": "Pick one."},
    "format": {"enumerator": "greek"},
    "option_order": {"order": "reversed"},
    "examples": {"demonstrations": EXAMPLES},
    "crossed": {"enumerator": "numbers", "order": "reversed"},
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_older_names(row: dict[str, Any]) -> dict[str, Any]:
    given = row["prompt_config"]["dimensions"]
    dimensions = {OLDER.get(name, name): value for name, value in given.items()}
    return {**row, "prompt_config": {**row["prompt_config"], "dimensions": dimensions}}


def variants(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Number, kind and setting of each variant, and how many answers it has."""
    found = frame.group_by("variant_index", "variation", "setting").len().sort(pl.col("variant_index").cast(pl.Int64))
    return [(index, kind, json.loads(setting), n) for index, kind, setting, n in found.iter_rows()]


ROWS = [choice_row(sample, said=sample % 4, **varied) for sample in range(3) for varied in VARIED.values()]
EXPECTED = [
    ("0", "original", {}, 3),
    ("1", "wording", {"wording": 1}, 3),
    ("2", "format", {"format": {"enumerator": "greek"}}, 3),
    ("3", "option_order", {"option_order": "reversed"}, 3),
    # the questions of its examples, whose signs follow those of the prompt
    (
        "4",
        "examples",
        {"examples": {"demonstrations": [{"question": f"Which is {n}?"} for n in range(2)], "shots": 2}},
        3,
    ),
    ("5", "crossed", {"format": {"enumerator": "numbers"}, "option_order": "reversed"}, 3),
]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_each_variant_is_of_the_kind_in_which_it_differs_from_the_one_that_is_closest_to_all(
    tmp_path: Path, name: str
) -> None:
    assert [faults(row) for row in ROWS] == [[]] * len(ROWS)
    read = read_recordings([write(tmp_path / name, ROWS)])
    assert variants(read.frame) == EXPECTED
    kinds = "wording, format, option_order, examples, crossed"
    assert any(
        f"6 prompt variants; variant 0 is the one that the others differ least from (in {kinds}), of" in note
        for note in read.notes
    )


def test_both_spellings_of_a_dimension_are_one(tmp_path: Path) -> None:
    older = [in_older_names(row) for row in ROWS]
    assert variants(read_recordings([write(tmp_path / "older.jsonl", older)]).frame) == EXPECTED
    again = [choice_row(3, said=3, **varied) for varied in VARIED.values()]
    files = [write(tmp_path / "older.jsonl", older), write(tmp_path / "newer.jsonl", again)]
    assert variants(read_recordings(files).frame) == [(*each, 4) for *each, _ in EXPECTED]


def test_the_variant_that_the_others_differ_least_from_is_the_original_wherever_it_stands(tmp_path: Path) -> None:
    last = [row for kind in reversed(VARIED) for row in [choice_row(0, said=0, **VARIED[kind])]]
    frame = read_recordings([write(tmp_path / "rows.jsonl", last)]).frame
    assert frame["variation"].to_list() == list(reversed(VARIED))
    assert frame["variant_index"].to_list() == ["1", "2", "3", "4", "5", "0"]
    # of two that differ in as many the first
    two = [choice_row(0, said=0, enumerator=each) for each in ("greek", "capitals")]
    frame = read_recordings([write(tmp_path / "two.jsonl", two)]).frame
    assert frame["variation"].to_list() == ["original", "format"]


def test_examples_of_each_sample_of_its_own_are_no_variants(tmp_path: Path) -> None:
    def shown(*numbers: int) -> list[dict[str, Any]]:
        return [{"question": f"Which is {n}?", "answer": "A"} for n in numbers]

    own = [choice_row(sample, said=0, demonstrations=shown(sample)) for sample in range(4)]
    assert len(variants(read_recordings([write(tmp_path / "own.jsonl", own)]).frame)) == 1
    more = [choice_row(sample, said=0, demonstrations=shown(sample + 10)) for sample in range(4)]
    found = variants(read_recordings([write(tmp_path / "draws.jsonl", own + more)]).frame)
    assert [each[1:] for each in found] == [
        ("original", {}, 4),
        ("examples", {"examples": {"demonstrations": "draw 2"}}, 4),
    ]


def test_what_is_sent_of_messages_is_their_contents_in_order(tmp_path: Path) -> None:
    row = choice_row(0, said=0)
    row["instance"]["raw_input"] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What comes after 0?"},
    ]
    del row["instance"]["classification_fields"]
    dimensions = row["prompt_config"]["dimensions"]
    assert faults(row) == []
    frame = read_recordings([write(tmp_path / "rows.jsonl", [row])]).frame
    assert frame["input"].to_list() == ["Be brief.\n\nWhat comes after 0?"]
    del dimensions["instruction_phrasing"]  # then the prompt is what the messages say
    row["instance"]["classification_fields"] = {"question": "What comes after 0?"}
    frame = read_recordings([write(tmp_path / "rows.jsonl", [row])]).frame
    assert frame.select("input", "instruction").rows() == [("What comes after 0?", "Be brief.\n\n{question}")]
    row["instance"]["raw_input"] = [{"role": "user"}]
    with pytest.raises(DataError, match=r"rows\.jsonl row 1: not a row of DOVE: KeyError 'content'"):
        read_recordings([write(tmp_path / "rows.jsonl", [row])])


def test_a_table_in_another_form_is_the_same_sample_in_another_format(tmp_path: Path) -> None:
    forms = ({}, {"serialization": "list_of_lists"}, {"perturbation": "transpose"})
    rows = [table_row(sample, **form) for sample in range(2) for form in forms]
    assert [faults(row) for row in rows] == [[]] * 6
    frame = read_recordings([write(tmp_path / "rows.jsonl", rows)]).frame
    assert frame["sample_id"].to_list() == ["0"] * 3 + ["1"] * 3
    assert frame["input"][0] == "name,n\na,0\nb,3\n\nWhat is n of a?"
    assert variants(frame) == [
        ("0", "original", {}, 2),
        ("1", "format", {"format": {"table_serialization": "list_of_lists"}}, 2),
        ("2", "input_noise", {"input_noise": {"table_perturbation": ["transpose"]}}, 2),
    ]


def test_a_statement_about_a_table_has_options_and_rows_may_stand_in_a_document(tmp_path: Path) -> None:
    row = choice_row(0, said=1)
    row["instance"]["raw_input"] = {"table": "a,b", "question": "What comes after 0?"}
    assert faults(row) == []
    (tmp_path / "rows.json").write_text(json.dumps({"examples": [row]}, indent=2))
    frame = read_recordings([tmp_path / "rows.json"]).frame
    assert frame.select("input", "choices", "gold_label").rows() == [
        ("a,b\n\nWhat comes after 0?", json.dumps(list(CHOICES)), "A")
    ]


def test_strategies_of_rows_of_ours_have_originals_of_their_own(tmp_path: Path) -> None:
    rows = []
    for strategy in ("simple", "detail"):
        for number, (kind, phrasing) in enumerate((("original", "Choose."), ("wording", "Pick."))):
            row = choice_row(0, said=0, phrasing=phrasing)
            setting = json.dumps({"wording": number} if number else {})
            ours = {"strategy": strategy, "variant_index": number, "variation": kind, "setting": setting}
            row["prompt_config"]["dimensions"] |= ours
            rows.append(row)
    frame = read_recordings([write(tmp_path / "rows.jsonl", rows)]).frame
    assert frame.select("strategy", "variant_index", "variation", "repetition").rows() == [
        ("simple", "0", "original", "1"),
        ("simple", "1", "wording", "1"),
        ("detail", "0", "original", "1"),
        ("detail", "1", "wording", "1"),
    ]
    # beside rows that name none these are of the strategy that the command says
    files = [write(tmp_path / "rows.jsonl", rows), write(tmp_path / "others.jsonl", [choice_row(0, said=0)])]
    frame = typed(read_recordings(files).frame, "plain", None)
    assert frame["strategy"].to_list() == ["simple"] * 2 + ["detail"] * 2 + ["plain"]


def test_a_column_of_others_by_the_name_of_ours_says_no_kind(tmp_path: Path) -> None:
    rows = [choice_row(0, said=0), choice_row(0, said=0, enumerator="greek")]
    for row in rows:
        row["prompt_config"]["dimensions"] |= {"variation": "<b>v1</b>", "setting": "warm"}
    frame = read_recordings([write(tmp_path / "rows.jsonl", rows)]).frame
    assert frame["variation"].to_list() == ["original", "format"]


def test_kinds_are_of_one_original_and_none_without_it(tmp_path: Path) -> None:
    rows = []
    for number, kind in enumerate(("input_noise", "system")):
        row = choice_row(0, said=0)
        ours = {"strategy": "simple", "variant_index": number + 1, "variation": kind, "setting": json.dumps({kind: {}})}
        row["prompt_config"]["dimensions"] |= ours
        rows.append(row)
    frame = read_recordings([write(tmp_path / "rows.jsonl", rows)]).frame
    assert frame["variation"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: row["prompt_config"]["dimensions"].update(mc_enumerator="\ud83d"),
            "row 1: not a row of DOVE: Unicode",
        ),
        (
            lambda row: row["instance"]["classification_fields"].update(
                choices=[{"id": str(n), "text": f"option {n}"} for n in range(27)]
            ),
            "row 1: not a row of DOVE: ValueError 27 options; at most 26 have a letter",
        ),
    ],
)
def test_what_no_table_can_hold_is_one_line(tmp_path: Path, change: Any, message: str) -> None:
    row = choice_row(0, said=0)
    change(row)
    with pytest.raises(DataError, match=message):
        read_recordings([write(tmp_path / "rows.jsonl", [row])])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda row: row.pop("output"), "$: 'output' is a required property"),
        (lambda row: row["model"]["configuration"].clear(), "$.model.configuration: 'context_window' is a required"),
        (lambda row: row["prompt_config"].update(prompt_class="Classification"), "$.prompt_config.prompt_class: "),
        (lambda row: row["evaluation"].update(score=None), "$.evaluation.score: None is not of type 'number'"),
    ],
)
def test_the_schema_of_the_tests_finds_what_is_wrong(change: Any, fault: str) -> None:
    row = choice_row(0, said=0)
    change(row)
    assert [each.startswith(fault) for each in faults(row)] == [True]
