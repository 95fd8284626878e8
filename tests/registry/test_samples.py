"""Samples come from files and hubs as they are written, and rows that are added disturb few."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.registry.cards import Samples, TaskCard
from promptaudit.registry.errors import DataError
from promptaudit.registry.samples import choose_samples, load_samples, panels


def task(**data: Any) -> TaskCard:
    columns = {"id": "id", "input": "text", "gold_label": "gold"}
    return TaskCard.model_validate({"labels": ["a", "b"], "instruction": "Sort it.", "data": {**columns, **data}})


def rows(n: int, *, share_of_a: float = 0.5) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"{i:03d}" for i in range(n)],
            "text": [f"text {i}" for i in range(n)],
            "gold": ["a" if i < n * share_of_a else "b" for i in range(n)],
        }
    )


def write(folder: Path, frame: pl.DataFrame, name: str) -> None:
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[name.split(".")[1]](
        folder / name
    )


def test_names_of_fields_differ_composed_and_have_no_braces() -> None:
    card = {"kind": "extraction", "instruction": "Read it.", "data": {"path": "d.csv", "input": "text"}}
    for names, said in ((("\u00e9", "e\u0301"), "'\u00e9' stands twice"), (("it's {input}",), "has a brace")):
        with pytest.raises(ValueError, match=said):
            TaskCard.model_validate({**card, "fields": dict.fromkeys(names, "exact")})


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet"])
def test_every_format_reads_the_same(tmp_path: Path, name: str) -> None:
    write(tmp_path, rows(6), name)
    samples = load_samples("t", task(path=name), tmp_path)
    assert [(s.sample_id, s.text, s.gold_label) for s in samples][::5] == [
        ("000", "text 0", "a"),
        ("005", "text 5", "b"),
    ]


def test_gold_labels_become_the_cards_in_whatever_unicode_form_they_are(tmp_path: Path) -> None:
    composed, decomposed = "n\u00e3o", "na\u0303o"
    write(tmp_path, rows(4).with_columns(gold=pl.Series([decomposed, composed, "sim", "nunca"])), "d.csv")
    card = {
        "labels": ["sim", composed],
        "instruction": "Sort it.",
        "data": {"path": "d.csv", "input": "text", "gold_label": "gold", "gold_labels": {"nunca": decomposed}},
    }
    samples = load_samples("t", TaskCard.model_validate(card), tmp_path)
    assert [sample.gold_label for sample in samples] == [composed, composed, "sim", composed]
    with pytest.raises(ValueError, match="stands twice"):
        TaskCard.model_validate({**card, "labels": ["sim", composed, decomposed]})


def test_a_hub_dataset_is_loaded_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "org/small").mkdir(parents=True)
    rows(6).with_columns(gold=pl.Series([0, 0, 0, 1, 1, 1])).write_parquet(tmp_path / "org/small/test-00000.parquet")
    monkeypatch.chdir(tmp_path)  # load_dataset takes a folder for a repository: the same code, without a hub
    card = task(hub="org/small", gold_labels={"0": "a", "1": "b"})
    samples = load_samples("t", card, tmp_path)
    assert [(s.sample_id, s.gold_label) for s in samples][::5] == [("000", "a"), ("005", "b")]


@pytest.mark.parametrize("where", ["d.parquet", "d.jsonl", "hub"])
def test_columns_inside_of_columns_are_named_by_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    frame = pl.DataFrame(
        {
            "question": [{"stem": "Which?", "n": 1}, {"stem": "[Who]?", "n": 2}],
            "choices": [
                {"text": ["a hen", "[a] gull"], "label": ["A", "B"]},
                {"text": ["1", "2"], "label": ["A", "B"]},
            ],
            "answerKey": ["B", "A"],
            "answers": [[{"text": "a gull"}, {"text": "gulls"}], [{"text": "one"}]],
        }
    )
    (tmp_path / "org/nested").mkdir(parents=True)
    frame.write_parquet(tmp_path / "org/nested/test-00000.parquet")
    frame.write_parquet(tmp_path / "d.parquet") if where != "d.jsonl" else frame.write_ndjson(tmp_path / where)
    monkeypatch.chdir(tmp_path)
    source = {"hub": "org/nested"} if where == "hub" else {"path": where}
    if where == "d.parquet":
        frame.drop("answers").write_parquet(tmp_path / where)  # a list of objects is read from JSON and hubs alone
    data = {**source, "input": "question.stem", "gold_label": "answerKey"}
    choice = {"kind": "multiple_choice", "labels": ["A", "B"], "templates": "t"}
    card = TaskCard.model_validate({**choice, "data": {**data, "options": "choices.text"}})
    found = load_samples("t", card, tmp_path)
    assert [(s.text, s.gold_label, s.options) for s in found] == [
        ("Which?", "B", ("a hen", "[a] gull")),
        ("[Who]?", "A", ("1", "2")),
    ]
    if where != "d.parquet":
        asked = {
            "kind": "open_ended",
            "templates": "t",
            "data": {**source, "input": "question.stem", "references": "answers.text"},
        }
        references = [s.references for s in load_samples("t", TaskCard.model_validate(asked), tmp_path)]
        assert references == [("a gull", "gulls"), ("one",)]
    named = {**choice, "data": {**data, "options": "choices.text", "columns": {"passage": "choices.label"}}}
    (first, *_) = load_samples("t", TaskCard.model_validate(named), tmp_path)
    assert first.fields["passage"] == first.fields["choices.label"]
    taken = TaskCard.model_validate({**named, "data": {**named["data"], "columns": {"answerKey": "question.stem"}}})
    with pytest.raises(DataError, match=r"data\.columns: 'answerKey' is a column of the data; choose another name"):
        load_samples("t", taken, tmp_path)
    wrong = TaskCard.model_validate({**choice, "data": {**data, "options": "choices.texts"}})
    with pytest.raises(DataError, match=r"no column 'choices\.texts'; nearest: choices"):
        load_samples("t", wrong, tmp_path)


def test_a_hub_out_of_reach_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="task 't': no/such: cannot be loaded"):
        load_samples("t", task(hub="no/such"), tmp_path)


def chosen(tmp_path: Path, frame: pl.DataFrame, **how: Any) -> list[str]:
    frame.write_csv(tmp_path / "d.csv")
    examples = how.pop("with_examples", False)
    found = choose_samples("t", task(path="d.csv"), tmp_path, Samples(**how), with_examples=examples)
    return [sample.sample_id for sample in found.samples]


def test_a_balanced_limit_takes_classes_alike_as_far_as_they_reach(tmp_path: Path) -> None:
    for share_of_a, wanted in ((0.5, {"a": 10, "b": 10}), (0.05, {"a": 5, "b": 15})):
        frame = rows(100, share_of_a=share_of_a)
        gold = dict(zip(frame["id"], frame["gold"], strict=True))
        assert Counter(gold[name] for name in chosen(tmp_path, frame, limit=20)) == wanted


def test_rows_that_are_added_disturb_few(tmp_path: Path) -> None:
    before = set(chosen(tmp_path, rows(200), limit=50))
    more = pl.concat([rows(200), rows(220).tail(20)])
    after = set(chosen(tmp_path, more, limit=50))
    # 20 of 220 rows are new: about 50 * 20 / 220 of the chosen are, and only they displace anything
    assert len(after - before) <= 12
    assert before - after <= before


def test_panels_part_the_chosen_rows_evenly_and_balanced(tmp_path: Path) -> None:
    how = Samples(limit=100, each_night=30)
    rows(200).write_csv(tmp_path / "d.csv")
    asked = choose_samples("t", task(path="d.csv"), tmp_path, how, with_examples=False).samples
    parts = panels(asked, how)
    assert [len(part) for part in parts] == [25] * 4 == [how.in_one_run(100)] * 4
    assert sorted(each.sample_id for part in parts for each in part) == sorted(each.sample_id for each in asked)
    assert all(abs(Counter(each.gold_label for each in part)["a"] - 12.5) < 1 for part in parts)
    assert panels(asked, Samples()) == [list(asked)]


def test_what_samples_have_in_common_is_a_column(tmp_path: Path) -> None:
    frame = rows(4).with_columns(pl.Series("doc", ["d1", " d1", None, ""]))
    frame.write_csv(tmp_path / "d.csv")
    assert [each.cluster for each in load_samples("t", task(path="d.csv", cluster="doc"), tmp_path)] == [
        "d1",
        "d1",
        None,
        None,
    ]
    with pytest.raises(DataError, match="no column 'docs'; nearest: doc"):
        load_samples("t", task(path="d.csv", cluster="docs"), tmp_path)


def test_another_seed_chooses_others(tmp_path: Path) -> None:
    assert chosen(tmp_path, rows(200), limit=50, seed=1) != chosen(tmp_path, rows(200), limit=50, seed=2)


def test_an_example_is_never_a_sample(tmp_path: Path) -> None:
    rows(10).write_csv(tmp_path / "d.csv")
    found = choose_samples("t", task(path="d.csv"), tmp_path, Samples(), with_examples=True)
    assert set(found.examples) == {"a", "b"}
    assert not set(found.examples.values()) & {sample.text for sample in found.samples}
    assert len(found.samples) == 8


def test_a_label_without_a_row_has_no_example(tmp_path: Path) -> None:
    rows(4, share_of_a=1).write_csv(tmp_path / "d.csv")
    with pytest.raises(DataError, match="needs an example of label 'b'"):
        choose_samples("t", task(path="d.csv"), tmp_path, Samples(), with_examples=True)


def test_numbers_and_surrogates_of_json_stay_text(tmp_path: Path) -> None:
    lines = [{"id": 1.50, "text": "half \ud800", "gold": "a"}, {"id": 10, "text": "", "gold": None}]
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    first, second = load_samples("t", task(path="d.jsonl"), tmp_path)
    assert (first.sample_id, first.text) == ("1.5", "half \\ud800")
    assert (second.sample_id, second.text, second.gold_label) == ("10", "", None)


def test_a_column_without_a_value_is_empty_in_a_prompt(tmp_path: Path) -> None:
    lines = [
        {"id": "1", "text": "x", "store": "Hill"},
        {"id": "2", "text": "y", "store": None},
        {"id": "3", "text": "z"},
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    samples = load_samples("t", task(path="d.jsonl", gold_label=None), tmp_path)
    assert [sample.fields["store"] for sample in samples] == ["Hill", "", ""]


def test_the_example_of_extraction_is_the_row_whose_fields_are_filled(tmp_path: Path) -> None:
    frame = rows(6).with_columns(
        total=pl.Series(["1", None, "3", "", None, "6"]), note=pl.Series(list("ab") + [None] * 3 + ["f"])
    )
    write(tmp_path, frame, "d.csv")
    fields = {"fields": {"total": "number", "note": "exact"}, "data": {"path": "d.csv", "id": "id", "input": "text"}}
    card = TaskCard.model_validate({"kind": "extraction", "instruction": "Read it.", **fields})
    found = choose_samples("t", card, tmp_path, Samples(), with_examples=True)
    ((gold, text),) = found.examples.items()
    assert json.loads(gold) in ({"total": "1", "note": "a"}, {"total": "6", "note": "f"})
    assert text not in {sample.text for sample in found.samples}
    assert len(found.samples) == 5
    again = pl.concat([frame, frame.with_columns(id=pl.col("id") + "again")])  # each text twice
    write(tmp_path, again, "d.csv")
    found = choose_samples("t", card, tmp_path, Samples(), with_examples=True)
    assert len(found.samples) == 10
    assert not {*found.examples.values()} & {sample.text for sample in found.samples}
    assert not choose_samples("t", card, tmp_path, Samples(), with_examples=False).examples
    write(tmp_path, frame.with_columns(total=pl.lit(""), note=pl.lit("")), "d.csv")
    with pytest.raises(DataError, match="strategy one_shot needs an example, and no row has a gold value"):
        choose_samples("t", card, tmp_path, Samples(), with_examples=True)


def test_a_landed_card_keeps_the_order_of_its_fields() -> None:
    fields = {"total": "number", "day": {"rule": "date", "list": True}, "coin": {"values": ["EUR"], "rule": "one_of"}}
    card = TaskCard.model_validate(
        {"kind": "extraction", "instruction": "Read \u201cit\u201d.", "fields": fields, "data": {"path": "d.csv"}}
    )
    landed = TaskCard.model_validate_json(card.canonical_json())
    assert (list(landed.fields), landed) == (list(fields), card)
    assert list(json.loads(card.canonical_json())) == ["data", "fields", "instruction", "kind"]


@pytest.mark.parametrize(
    ("golds", "found"),
    [
        (
            ("A", "AB", "B"),
            "row 1: gold label 'A' is the letter of one option and the text of another; write the letter",
        ),
        (("A", "D", "B"), ["A", "D", "B"]),  # letters alone, whatever the options say
        (("AB", "AB", "AB"), ["C", "C", "C"]),
    ],
)
def test_letters_and_texts_of_options_are_told_apart(
    tmp_path: Path, golds: tuple[str, ...], found: str | list[str]
) -> None:
    rows = [{"id": n, "text": "Which?", "gold": gold, "options": ["B", "A", "AB", "O"]} for n, gold in enumerate(golds)]
    (tmp_path / "d.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    data = {"path": "d.jsonl", "id": "id", "input": "text", "gold_label": "gold", "options": "options"}
    card = {"kind": "multiple_choice", "labels": ["A", "B", "C", "D"], "templates": "t", "data": data}
    task = TaskCard.model_validate(card)
    if isinstance(found, str):
        with pytest.raises(DataError, match=found):
            load_samples("t", task, tmp_path)
    else:
        assert [sample.gold_label for sample in load_samples("t", task, tmp_path)] == found
