"""Recorded answers: text as written, cells as planned, errors in one line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.engines import Answer, open_engine
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError, DataError
from promptaudit.registry.registry import Entry
from tests.support.engine_requests import request_of


def ask(root: Path, file: str, *requests: Any, model: str = "m") -> list[str | None]:
    return [answer.completion for answer in full_answers(root, file, *requests, model=model)]


def full_answers(root: Path, file: str, *requests: Any, model: str = "m") -> list[Answer]:
    card = ModelCard(engine="recorded", model=model, path=file)
    engine = open_engine(Entry(card, root, "models/recorded.yml", {}))

    async def run() -> list[Answer]:
        found = [await engine.answer(request) for request in requests]
        await engine.close()
        return found

    return asyncio.run(run())


def test_completions_are_text_as_written(tmp_path: Path) -> None:
    words = ["N/A", "None", "", "null", "1.0", "007", " padded ", 'a "quoted"\nline', "NaN", "true"]
    lines = "\n".join(f'{index},"{word.replace(chr(34), chr(34) * 2)}"' for index, word in enumerate(words))
    (tmp_path / "a.csv").write_text(f"sample_id,completion\n{lines}\n", encoding="utf-8")
    requests = [request_of(sample_id=str(index)) for index in range(len(words))]
    assert ask(tmp_path, "a.csv", *requests) == words


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_format_holds_the_same_cells(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"sample_id": "s", "variant_index": variant, "repetition": repetition, "completion": f"{variant}/{repetition}"}
        for variant in (0, 1)
        for repetition in (1, 2)
    ]
    path = tmp_path / f"a.{suffix}"
    table = pl.DataFrame(rows)
    {"csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet}[suffix](path)
    requests = [
        request_of(sample_id="s", variant_index=row["variant_index"], repetition=row["repetition"]) for row in rows
    ]
    assert ask(tmp_path, path.name, *requests) == ["0/1", "0/2", "1/1", "1/2"]
    assert ask(tmp_path, path.name, request_of(sample_id="s", repetition=3)) == [None]


def test_what_is_absent_is_the_simple_original_asked_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sample_id,completion\ns,yes\n")
    asked = [
        request_of(sample_id="s"),
        request_of(sample_id="s", task_id="any"),
        request_of(sample_id="s", strategy="detail"),
        request_of(sample_id="s", variant_index=1),
        request_of(sample_id="s", repetition=2),
        request_of(sample_id="s", paraphrase_temperature=0.1),
        request_of(sample_id="other"),
    ]
    assert ask(tmp_path, "a.csv", *asked) == ["yes", "yes", None, None, None, None, None]
    missing = full_answers(tmp_path, "a.csv", asked[-1])[0]
    assert missing == Answer(error="m: the file has no answer for this cell")


def test_temperatures_and_whole_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sample_id,completion,paraphrase_temperature,variant_index\ns,a,0.10,1.0\ns,b,,0\n")
    asked = [request_of(sample_id="s", paraphrase_temperature=0.1, variant_index=1), request_of(sample_id="s")]
    assert ask(tmp_path, "a.csv", *asked) == ["a", "b"]


def test_the_model_column_picks_the_rows_and_the_task_column_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,task,sample_id,completion\nm,t,s,mine\nn,t,s,theirs\n")
    asked = [request_of(sample_id="s", task_id="t"), request_of(sample_id="s", task_id="u")]
    assert ask(tmp_path, "a.csv", *asked) == ["mine", None]
    assert ask(tmp_path, "a.csv", asked[0], model="n") == ["theirs"]
    with pytest.raises(DataError, match=r"no row of model 'nn'; nearest: n"):
        ask(tmp_path, "a.csv", model="nn")


def test_json_numbers_keep_their_spelling_and_null_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"sample_id": 1, "completion": 1.0}\n'
        '{"sample_id": "2", "completion": null}\n'
        '{"sample_id": "3", "completion": "\\ud800"}\n'
    )
    assert ask(tmp_path, "a.jsonl", *(request_of(sample_id=str(i)) for i in (1, 2, 3))) == ["1.0", None, "\ud800"]


def test_a_file_that_disagrees_with_itself_is_refused_and_one_that_repeats_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sample_id,completion\ns,yes\ns,yes\n")
    assert ask(tmp_path, "a.csv", request_of(sample_id="s")) == ["yes"]
    (tmp_path / "b.csv").write_text("sample_id,completion\ns,yes\nt,no\ns,no\n")
    with pytest.raises(DataError, match=r"b.csv row 3: .* sample 's'"):
        ask(tmp_path, "b.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,completion\n1,x\n", "no column 'sample_id'"),
        ("a.csv", "sample_id,completions\n1,x\n", "no column 'completion'; nearest: completions"),
        ("a.csv", "", "no column 'sample_id'"),
        ("a.csv", "sample_id,completion,repetition\n1,x,0\n", "row 1: repetition is a whole number from 1, found '0'"),
        ("a.csv", "sample_id,completion,variant_index\n1,x,first\n", "row 1: variant_index is a number, found 'first'"),
        ("a.csv", "sample_id,completion,paraphrase_temperature\n1,x,nan\n", "paraphrase_temperature is a number"),
        ("a.csv", b"sample_id,completion\n1,\xff\n", "not readable as CSV"),
        ("a.jsonl", '{"sample_id": ', "line 1: not JSON"),
        ("a.jsonl", "[1, 2]", "an object is wanted"),
        ("a.parquet", "no parquet", "not readable as PARQUET"),
    ],
)
def test_an_unusable_file_is_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        ask(tmp_path, name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.csv: no such file"):
        ask(tmp_path, "gone.csv")


def test_a_path_out_of_the_registry_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    root.mkdir()
    (tmp_path / "out.jsonl").write_text(json.dumps({"sample_id": "s", "completion": "x"}))
    (root / "link.jsonl").symlink_to(tmp_path / "out.jsonl")
    for path in ("../out.jsonl", str(tmp_path / "out.jsonl"), "link.jsonl"):
        with pytest.raises(CardError, match="leaves the registry"):
            ask(root, path)
