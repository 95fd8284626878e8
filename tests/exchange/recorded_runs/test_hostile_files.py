"""A small file that would become a large one costs at most 1 GiB and ten seconds, and is refused in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptaudit.exchange.recorded_runs.formats.every_eval_ever import FIELDS

HEADER = {"version": 2, "eval": {"eval_id": "e", "model": "m", "task": "t"}}
SAMPLE = {"id": 1, "epoch": 1, "input": "q", "target": "a", "output": {"choices": [{"message": {"content": "a"}}]}}
ROW = {"model": "m", "sample_id": "1", "completion": "a", "gold_label": "a"}
MB = 1 << 20


def listed(text: str, n: int) -> str:
    return f"[{(text + ',') * n}0]"


def log(path: Path, **members: Any) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"header": HEADER, **members}.items():
            text = content if isinstance(content, str) else json.dumps(content)
            archive.writestr(f"{name.replace('__', '/')}.json", text)


def in_chunks(path: Path, **members: Any) -> None:
    log(path, **{f"samples__1_epoch_1__{name}": content for name, content in members.items()})


def helm(path: Path, **state: Any) -> None:
    states = [{"instance": {"id": "1", "input": {"text": "q"}}, "request": {"model": "m", "prompt": "q"}, **state}]
    path.write_text(json.dumps({"adapter_spec": {"method": "generation"}, "request_states": states}))


def promptfoo(path: Path, **result: Any) -> None:
    given = {"provider": {"id": "m"}, "prompt": {"raw": "q"}, "response": {"output": "a"}, "success": True, **result}
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [], "results": [given]}}))


def promptfoo_prompts(path: Path, n: int, prompt: str, variables: dict[str, str]) -> None:
    results = [
        {"provider": {"id": "m"}, "prompt": {"raw": f"{prompt} {k}"}, "vars": variables, "response": {"output": "a"}}
        for k in range(n)
    ]
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [], "results": results}}))


def lm_eval(path: Path, **row: Any) -> None:
    whole = {"doc_id": 0, "doc": {"q": "q"}, "target": "a", "arguments": [["q"]], "resps": [["a"]], **row}
    path.write_text(json.dumps(whole) + "\n")


def sparse(path: Path, head: bytes) -> None:
    path.write_bytes(head)
    os.truncate(path, 3 << 30)


def one_value_often(path: Path, text: str, n: int) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([text]))
    names = pa.array(["m"] * n).dictionary_encode()
    pq.write_table(pa.table({"model": names, "sample_id": names, "completion": column}), path, compression="zstd")


def larger_than_it_says(path: Path) -> None:
    text = "x" * 300 * MB
    pq.write_table(
        pa.table({"completion": [text]}), path, compression="zstd", use_dictionary=False, write_statistics=False
    )
    about = pq.read_metadata(path).row_group(0)
    content = path.read_bytes()
    for size in (
        about.column(0).total_uncompressed_size,
        about.total_byte_size,
    ):  # as the footer has it, and 1 in its place
        content = content.replace(_varint(2 * size), b"\x82\x80\x80\x80\x00")
    path.write_bytes(content)


def _varint(number: int) -> bytes:
    return bytes([number & 127 | 128, *_varint(number >> 7)]) if number > 127 else bytes([number])


def nothing_often(path: Path, n: int) -> None:
    pl.DataFrame({"model": pl.Series([None] * n, dtype=pl.String)}).write_parquet(path, compression="zstd")


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    # references: what stands there once is put in any number of times
    "messages.eval": (
        lambda p: in_chunks(
            p,
            sample={**SAMPLE, "message_refs": [[0, 1000]] * 100_000},
            messages__0=[{"role": "user", "content": "x" * 1000}] * 1000,
        ),
        r"message_refs: more than twice",
    ),
    "attachments.eval": (
        lambda p: log(
            p,
            samples__1_epoch_1={
                **SAMPLE,
                "attachments": {"0": "x" * MB},
                "messages": [{"role": "user", "content": [{"type": "text", "text": "attachment://0"}] * 10_000}],
            },
        ),
        r"attachments: they are put in",
    ),
    "replies.eval": (
        lambda p: log(
            p,
            samples__1_epoch_1={
                **SAMPLE,
                "input": "x" * MB,
                "output": {"choices": [{"message": {"content": ""}}] * 1000},
            },
        ),
        r"the answers have more than",
    ),
    "scenario_state.json": (
        lambda p: helm(
            p,
            instance={
                "id": "1",
                "input": {"text": "x" * MB},
                "references": [{"output": {"text": "r" * MB}, "tags": ["correct"]}],
            },
            result={"completions": [{"text": ""}] * 1000},
        ),
        r"the answers have more than",
    ),
    "placeholders.json": (
        lambda p: promptfoo(
            p, vars={"a": "x" * MB}, testCase={"assert": [{"type": "equals", "value": "{{a}}" * 100_000}]}
        ),
        r"assert: a value of more than",
    ),
    "variables.json": (lambda p: promptfoo(p, vars={f"v{n}": "x" for n in range(100_000)}), r"fields of a sample"),
    "repeats.jsonl": (lambda p: lm_eval(p, arguments=[["x" * MB]], resps=[[""] * 1000]), r"the answers have more than"),
    # answers, scorers and fields: lists that a few bytes make, and what they are multiplied by
    "choices.eval": (
        lambda p: log(p, samples__1_epoch_1={**SAMPLE, "output": {"choices": [{}] * 200_000}}),
        r"answers to one ask",
    ),
    "choices_often.eval": (
        lambda p: log(
            p, **{f"samples__{n}_epoch_1": {**SAMPLE, "id": n, "output": {"choices": [{}] * 1000}} for n in range(200)}
        ),
        r"the answers have more than",
    ),
    "scorers.eval": (
        lambda p: log(
            p,
            **{
                f"samples__{n}_epoch_1": {**SAMPLE, "id": n, "scores": {f"{n}.{k}": {"value": "?"} for k in range(100)}}
                for n in range(1000)
            },
        ),
        r"scores of 100000 scorers",
    ),
    "completions.json": (lambda p: helm(p, result={"completions": [{"text": ""}] * 200_000}), r"answers to one ask"),
    "repeats_short.jsonl": (lambda p: lm_eval(p, resps=[[""] * 200_000]), r"answers to one ask"),
    "raw.jsonl": (
        lambda p: p.write_text(
            json.dumps(
                {
                    **dict.fromkeys(FIELDS, ""),
                    "input": {"raw": ""},
                    "evaluation": {},
                    "output": {"raw": ["a"] * 200_000},
                }
            )
        ),
        r"answers to one ask",
    ),
    "fields.jsonl": (
        lambda p: lm_eval(
            p, doc={f"f{n}": f"no {n}" for n in range(50_000)}, arguments=[["x" * MB]], resps=[["a"] * 1000]
        ),
        r"fields of a sample",
    ),
    "parts.json": (
        lambda p: promptfoo_prompts(p, 1000, "a" * 100_000, {f"v{n}": "a" * n for n in range(1, 11)}),
        r"are not looked for",
    ),
    "parts_many.json": (
        lambda p: promptfoo_prompts(p, 30, "a " * 50_000, {f"v{n}": f"b{n}" for n in range(1000)}),
        r"are not looked for",
    ),
    "sparse.eval": (lambda p: sparse(p, b"PK\x03\x04"), r"at most [\d,]+ are read"),
    "sparse_log.json": (lambda p: sparse(p, b"{"), r"at most [\d,]+ are read"),
    # lists and objects, which take twenty times their text
    "lists.eval": (lambda p: log(p, samples__1_epoch_1=listed("[]", 15_000_000)), r"would take more than"),
    "objects.eval": (lambda p: log(p, samples__1_epoch_1=listed('{"a":{"a":1}}', 4_000_000)), r"would take more than"),
    "lists.json": (lambda p: p.write_text(listed("[]", 10_000_000)), r"would take more than"),
    "lists.jsonl": (lambda p: p.write_text(f'{{"model": {listed("[]", 10_000_000)}}}'), r"would take more than"),
    "deep.json": (lambda p: p.write_text('{"a":' * 1_000_000), r"nested too deep"),
    "deep.jsonl": (lambda p: p.write_text('{"a":' + "[" * 1_000_000), r"nested too deep"),
    "number.json": (lambda p: p.write_text('[{"model": ' + "1" * 10_000_000 + "}]"), r"not JSON"),
    "string.jsonl": (lambda p: p.write_text(json.dumps({**ROW, "completion": "x" * 20 * MB})), r"a text of more than"),
    "line.jsonl": (lambda p: p.write_bytes(b"x" * 65 * MB), r"bytes in one line"),
    # columns, and the cells that they make of short rows
    "keys.jsonl": (lambda p: p.write_text(json.dumps({f"k{n}": n for n in range(200_000)})), r"columns, at most"),
    "keys.json": (lambda p: p.write_text(json.dumps([{f"k{n}": n for n in range(200_000)}])), r"columns, at most"),
    "sparse.jsonl": (
        lambda p: p.write_text(json.dumps({f"k{n}": n for n in range(1000)}) + "\n" + '{"k0":1}\n' * 1_000_000),
        r"more cells than",
    ),
    "sparse.json": (
        lambda p: p.write_text("[" + json.dumps({f"k{n}": n for n in range(1000)}) + ',{"k0":1}' * 300_000 + "]"),
        r"more cells than",
    ),
    "columns.csv": (lambda p: p.write_text(",".join(map(str, range(1_000_000))) + "\n"), r"columns, at most"),
    "commas.csv": (lambda p: p.write_text("model,sample_id,completion\n" + "," * 3_000_000), r"a line of"),
    "cells.csv": (
        lambda p: p.write_text(",".join(f"c{n}" for n in range(100)) + "\n" + ("," * 99 + "\n") * 200_000),
        r"more cells than",
    ),
    # Parquet, whose pages say a value once
    "values.parquet": (lambda p: one_value_often(p, "x" * MB, 100_000), r"bytes of texts"),
    "pages.parquet": (larger_than_it_says, r"bytes when unpacked"),
    "nulls.parquet": (lambda p: nothing_often(p, 30_000_000), r"values in a file of"),
    "fewer_nulls.parquet": (lambda p: nothing_often(p, 19_000_000), r"no column"),
    # YAML
    "lists.yml": (lambda p: p.write_text("a: [" + "[]," * 300_000 + "]"), r"more than 50,000 values"),
    "keys.yml": (lambda p: p.write_text("".join(f"k{n}: 1\n" for n in range(90_000))), r"more than 50,000 values"),
}

READS = """
import sys, time
from pathlib import Path
from promptaudit.exchange.recorded_runs.read_files import read_recordings
from promptaudit.registry.errors import PromptauditError
from promptaudit.registry.read_yaml import read_yaml
for name in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    began = time.process_time()
    try:
        read_yaml(Path(name), name) if name.endswith(".yml") else read_recordings([Path(name)], model="m")
        said = "read"
    except PromptauditError as error:
        said = " ".join(error.lines)
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    print(f"{name}\\t{int(peak) >> 10}\\t{time.process_time() - began:.1f}\\t{said}")
"""


@pytest.mark.slow
def test_a_small_file_costs_little_whatever_it_would_become(tmp_path: Path) -> None:
    for name, (make, _) in HOSTILE.items():
        make(tmp_path / name)
    ended = subprocess.run(
        [sys.executable, "-c", READS, *HOSTILE], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300
    )
    lines = [line.split("\t") for line in ended.stdout.splitlines()]
    assert [name for name, *_ in lines] == list(HOSTILE), ended.stderr[-2000:]
    for name, megabytes, seconds, said in lines:
        assert re.match(rf"\w+: {name}.*({HOSTILE[name][1]})", said), (name, said[:300])
        assert int(megabytes) < 1024, (name, megabytes)
        assert float(seconds) < 10, (name, seconds)
