"""Bad input: one line, the documented exit code, nothing half-landed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.schema import SCHEMA_VERSION
from tests.support.shell import promptaudit, promptaudit_process
from tests.support.webhook_server import running_webhooks

GOOD_ROWS = "model,sample_id,completion,repetition\nm,1,a,1\nm,1,b,2\nm,2,b,1\nm,2,b,2\n"


def predictions(folder: Path, text: str, name: str = "answers.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refused(ended_err: str, *words: str) -> None:
    line = ended_err.strip().splitlines()[-1]
    assert "Traceback" not in ended_err
    assert "defect" not in line, line
    for word in words:
        assert word in line, line


def run_rows(warehouse: Path) -> int:
    if not warehouse.exists():
        return 0
    with duckdb.connect(str(warehouse)) as con:
        return con.execute("select count(*) from raw.audit_runs").fetchone()[0]


# ---------------------------------------------------------------- recorded predictions
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "missing column": ("model,sample,completion\nm,1,a\n", ("sample_id", "nearest: sample")),
    "no rows": ("model,sample_id,completion\n", ("no rows",)),
    "empty file": ("", ("no column",)),
    "a short row": ("model,sample_id,completion\nm,1,a\nm,2\n", ("row 2", "2 fields, the header has 3")),
    "column twice": ("model,sample_id,completion,completion\nm,1,a,b\n", ("line 1", "'completion' stands twice")),
    "cells disagree": ("model,sample_id,completion\nm,1,a\nm,1,b\n", ("row 2", "another completion in row 1")),
    "repetition no number": (GOOD_ROWS.replace(",2\n", ",two\n"), ("row 2", "repetition", "'two'")),
    "repetition from zero": (GOOD_ROWS.replace(",2\n", ",0\n"), ("row 2", "repetition", "from 1")),
    "fractional variant": (
        "model,sample_id,completion,variant_index\nm,1,a,0.5\n",
        ("row 1", "variant_index", "'0.5'"),
    ),
    "no model": ("model,sample_id,completion\n,1,a\n", ("row 1", "model")),
    "no sample": ("model,sample_id,completion\nm,,a\n", ("row 1", "sample_id")),
    "infinite temperature": ("model,sample_id,completion,paraphrase_temperature\nm,1,a,inf\n", ("row 1", "'inf'")),
    "original maybe": ("model,sample_id,completion,is_original\nm,1,a,maybe\n", ("row 1", "is_original", "'maybe'")),
    "gold outside the set": ("model,sample_id,completion,gold_label\nm,1,a,aa\n", ("row 1", "'aa'", "nearest: a")),
    "two golds": (
        "model,sample_id,completion,gold_label,repetition\nm,1,a,a,1\nm,1,a,b,2\n",
        ("sample '1'", "gold labels"),
    ),
    "a variant with two wordings": (
        "model,sample_id,completion,variant_index,instruction\nm,1,a,1,Do it.\nm,2,a,1,Do that.\n",
        ("variant 1", "2 instructions"),
    ),
    "instructions without numbers": (
        "model,sample_id,completion,instruction\nm,1,a,Do it.\nm,2,a,Do that.\n",
        ("variant_index",),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_import_refuses(tmp_path: Path, name: str) -> None:
    text, words = FILES[name]
    ended = promptaudit(tmp_path, "import", predictions(tmp_path, text), "--labels", "a,b")
    assert ended.code == 2, ended.err
    refused(ended.err, *words)
    assert run_rows(tmp_path / "warehouse/audit.duckdb") == 0


def test_import_refuses_a_binary_file_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    ended = promptaudit(tmp_path, "import", path, "--labels", "a,b")
    assert ended.code == 2
    refused(ended.err, "picture.csv")


def test_import_refuses_a_completion_column_of_floats(tmp_path: Path) -> None:
    pl.DataFrame({"model": ["m"], "sample_id": ["1"], "completion": [1.0]}).write_parquet(tmp_path / "a.parquet")
    ended = promptaudit(tmp_path, "import", tmp_path / "a.parquet", "--labels", "0,1")
    assert ended.code == 2
    refused(ended.err, "completion", "Float64")


def test_import_refuses_nested_json(tmp_path: Path) -> None:
    path = predictions(tmp_path, '{"model": "m", "sample_id": "1", "completion": "a"}\n{"model": "m"', "a.jsonl")
    ended = promptaudit(tmp_path, "import", path, "--labels", "a,b")
    assert ended.code == 2
    refused(ended.err, "a.jsonl line 2", "not JSON")


def test_a_file_that_is_not_there_is_said_with_the_nearest(tmp_path: Path) -> None:
    predictions(tmp_path, GOOD_ROWS, "answers.csv")
    ended = promptaudit(tmp_path, "import", "answer.csv.gz", "--labels", "a,b")
    assert ended.code == 2
    refused(ended.err, "answer.csv.gz: no such file; nearest: answers.csv")


OPTIONS = [
    (("--labels", "a,b", "--scale", "5"), ("--scale", "two numbers")),
    (("--labels", "a,b", "--scale", "1,10"), ("--scale 1,10", "no answer has a score")),
    (("--labels", "a"), ("at least two",)),
    (("--labels", "a,a"), ("'a' stands twice",)),
    (("--labels", "low,high", "--level", "interval"), ("'low'", "no number")),
    (("--labels", "a,b", "--level", "nomnal"), ("nearest: nominal",)),
    (("--labels", "a,b", "--reader", "exactly"), ("nearest: exact",)),
    (("--labels", '["a",'), ("not a JSON list",)),
    ((), ("--labels",)),
    (("--labels", "a,b", "--resamples", "-3"), ("--resamples",)),
    (("--label", "a,b"), ("--label",)),
    (("--task", "question_type", "--level", "interval"), ("--level interval", "no number")),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_bad_options(tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = promptaudit(tmp_path, "import", predictions(tmp_path, GOOD_ROWS), *options)
    assert ended.code == 2
    refused(ended.err, *words)
    assert len(ended.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rnu",), ("rnu", "run")),
        (("run", "quikstart"), ("UnknownCard", "nearest: quickstart")),
        (("run", "--max-usd", "much"), ("--max-usd",)),
        (("sql", "select 1", "--format", "xml"), ("--format xml",)),
        (("sql", "select 1"), ("nothing is published yet",)),
        (("import", "nowhere.csv", "--labels", "a,b"), ("nowhere.csv", "no such file")),
        (("init", "here", "--data", "."), (".", "a folder; name a file of it")),
        (("--registry", "nowhere", "validate"), ("nowhere", "no folder")),
        (("report", "abc"), ("nothing is published yet",)),
    ],
)
def test_bad_commands(tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = promptaudit(tmp_path, *arguments)
    assert ended.code == 2
    refused(ended.err, *words)
    assert len(ended.err.strip().splitlines()) == 1


# ---------------------------------------------------------------- cards
TASK = "t:\n  labels: [a, b]\n  instruction: Sort it.\n  data: {path: datasets/d.csv, id: id, input: text, gold_label: gold}\n"
ROWS = "id,text,gold\n1,one,a\n2,two,b\n"

CARDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "too deep": ({"tasks/t.yml": "t: " + "[" * 20_000 + "]" * 20_000}, ("tasks/t.yml line 1", "nested deeper")),
    "malformed": ({"tasks/t.yml": "t: [a, {b\n"}, ("tasks/t.yml line 2", "not YAML")),
    "unknown key": ({"tasks/t.yml": TASK + "  lables: [a]\n"}, ("tasks/t.yml line 5", "'lables'", "nearest: labels")),
    "duplicate key": ({"tasks/t.yml": TASK + "  labels: [c, d]\n"}, ("tasks/t.yml line 5", "'labels' stands twice")),
    "alias": ({"tasks/t.yml": "t: &x {labels: [a, b]}\nu: *x\n"}, ("tasks/t.yml line 2", "aliases")),
    "missing field": ({"tasks/t.yml": "t: {labels: [a, b]}\n"}, ("tasks/t.yml line 1", "data")),
    "no instruction": (
        {"tasks/t.yml": TASK.replace("instruction:", "output_format:", 1)},
        ("tasks/t.yml line 1", "needs an instruction"),
    ),
    "one label": ({"tasks/t.yml": TASK.replace("[a, b]", "[a]")}, ("tasks/t.yml", "at least two")),
    "label twice": ({"tasks/t.yml": TASK.replace("[a, b]", "[a, b, a]")}, ("'a' stands twice",)),
    "interval of words": ({"tasks/t.yml": TASK + "  level: interval\n"}, ("'a'", "no number")),
    "bad pattern": ({"tasks/t.yml": TASK + "  reader: {regex: '(a'}\n"}, ("tasks/t.yml line 5", "reader")),
    "card twice": ({"tasks/t.yml": TASK, "tasks/u.yml": TASK}, ("'t'", "stands already in")),
    "gold outside": ({"datasets/d.csv": ROWS + "3,three,c\n"}, ("row 3", "'c'")),
    "empty dataset": ({"datasets/d.csv": "id,text,gold\n"}, ("no rows",)),
    "id twice": ({"datasets/d.csv": ROWS + "1,three,a\n"}, ("row 3", "row 1")),
    "no column": ({"datasets/d.csv": "id,txt,gold\n1,one,a\n"}, ("'text'", "nearest: txt")),
    "data leaves": ({"tasks/t.yml": TASK.replace("datasets/d.csv", "../../secret.csv")}, ("leaves the registry",)),
    "no data": ({"tasks/t.yml": TASK.replace("d.csv", "e.csv")}, ("e.csv", "no such file")),
    "unknown model": (
        {"audits/a.yml": "a: {tasks: [t], models: [lexcal]}\n"},
        ("audits/a.yml line 1", "nearest: lexical"),
    ),
    "judges": (
        {"audits/a.yml": "a: {tasks: [t], models: [lexical], judges: [rubricist]}\n"},
        ("judge 'rubricist'", "audits/a.yml line 1", "known: "),
    ),
    "noise alone": ({"audits/a.yml": "a: {tasks: [t], models: [lexical_noisy]}\n"}, ("'lexical'", "does not ask")),
    "binary card": ({"tasks/t.yml": "\x00\x01"}, ("tasks/t.yml",)),
}


def write_cards(folder: Path, changes: dict[str, str]) -> None:
    files = {
        "tasks/t.yml": TASK,
        "datasets/d.csv": ROWS,
        "audits/a.yml": "a: {tasks: [t], models: [lexical]}\n",
    } | changes
    for name, text in files.items():
        path = folder / "registry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("name", CARDS)
def test_bad_cards(tmp_path: Path, name: str) -> None:
    changes, words = CARDS[name]
    write_cards(tmp_path, changes)
    for command in ("validate", "run"):
        ended = promptaudit(tmp_path, command, "a")
        assert ended.code == 2, ended.err
        refused(ended.err, *words)
        assert len(ended.err.strip().splitlines()) == 1
    assert run_rows(tmp_path / "warehouse/audit.duckdb") == 0


@pytest.mark.parametrize("url", ["ftp://me:SECRET@host/v1", "me:SECRET@host/v1", "https://me:SECRET@[bad/v1"])
def test_an_address_or_a_variable_that_may_be_a_key_is_never_shown(tmp_path: Path, url: str) -> None:
    for field in (f'base_url: "{url}"', "api_key_env: sk-proj-SECRET"):
        write_cards(tmp_path, {"models/m.yml": f"m:\n  engine: openai_api\n  model: x\n  {field}\n"})
        ended = promptaudit(tmp_path, "validate")
        assert ended.code == 2
        assert "models/m.yml line 4" in ended.err
        assert "SECRET" not in ended.err + ended.out


def test_models_that_perturb_each_other_in_a_circle(tmp_path: Path) -> None:
    noisy = "{engine: embedded, model: noisy, rate: 0.1, of: "
    write_cards(
        tmp_path,
        {
            "models/m.yml": f"x: {noisy}y}}\ny: {noisy}x}}\n",
            "audits/a.yml": "a: {tasks: [t], models: [x, y, lexical]}\n",
        },
    )
    ended = promptaudit(tmp_path, "run", "a")
    assert ended.code == 2
    refused(ended.err, "in a circle: x, y")


def test_a_card_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    write_cards(tmp_path, {"tasks/t.yml": TASK + "#" * 1_000_001})
    ended = promptaudit(tmp_path, "validate", "a")
    assert ended.code == 2
    refused(ended.err, "tasks/t.yml", "at most 1000000")


# ---------------------------------------------------------------- the warehouse
def small_import(tmp_path: Path) -> Callable[..., object]:
    path = predictions(tmp_path, GOOD_ROWS)
    return lambda **extra: promptaudit(tmp_path, "import", path, "--labels", "a,b", **extra)


def test_a_warehouse_of_another_version_is_refused(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse/audit.duckdb"
    Warehouse(warehouse).apply_schema()
    with duckdb.connect(str(warehouse)) as con:
        con.execute("insert into raw.schema_versions values (?, now()::timestamp)", [SCHEMA_VERSION + 1])
    ended = small_import(tmp_path)()
    assert ended.code == 2
    refused(ended.err, f"schema version {SCHEMA_VERSION + 1}")


def test_a_file_that_is_no_warehouse_is_refused(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse/audit.duckdb").write_text("not a database " * 1000)
    ended = small_import(tmp_path)()
    assert ended.code == 2
    refused(ended.err, "is no DuckDB file")


def test_a_locked_warehouse_is_waited_for_and_its_holder_named(tmp_path: Path) -> None:
    with Warehouse(tmp_path / "warehouse/audit.duckdb").hold():
        ended = small_import(tmp_path)(PROMPTAUDIT_LOCK_WAIT_S="1")
    assert ended.code == 2
    refused(ended.err, f"process {os.getpid()}", "waited 1 s")
    assert "waiting up to 1 s for" in ended.err


def test_a_waiter_that_gives_up_leaves_the_holders_name(tmp_path: Path) -> None:
    with Warehouse(tmp_path / "warehouse/audit.duckdb").hold():
        for _ in range(2):
            ended = small_import(tmp_path)(PROMPTAUDIT_LOCK_WAIT_S="0")
            refused(ended.err, f"process {os.getpid()}")


def test_a_warehouse_open_elsewhere_names_who(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = tmp_path / "warehouse/audit.duckdb"
    Warehouse(warehouse).apply_schema()
    # it waits for half a minute
    monkeypatch.setitem(Warehouse.write.__kwdefaults__, "wait_s", 0.5)
    opened = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", opened, str(warehouse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        ended = small_import(tmp_path)()
        other.kill()
    assert ended.code == 2
    refused(ended.err, f"PID {other.pid}")


@pytest.fixture
def full_disk(tmp_path: Path) -> Path:
    """A folder on a file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size=3m tmpfs {folder} 2>/dev/null") != 0:  # noqa: S605
        pytest.skip("needs to mount a small file system")
    return folder


def test_a_full_disk_loses_nothing_that_had_landed(tmp_path: Path, full_disk: Path) -> None:
    try:
        many = pl.DataFrame(
            {
                "model": ["m"] * 40_000,
                "sample_id": [str(n) for n in range(40_000)],
                "completion": [f"{n} {n * 7919 % 10007} " * 8 for n in range(40_000)],
            }
        )
        many.write_csv(tmp_path / "many.csv")
        warehouse = full_disk / "audit.duckdb"
        Warehouse(warehouse).apply_schema()
        ended = promptaudit(tmp_path, "--warehouse", warehouse, "import", tmp_path / "many.csv", "--labels", "a,b")
        assert ended.code == 2, ended.err
        refused(ended.err, "full")
        assert run_rows(warehouse) == 0
    finally:
        os.system(f"umount {full_disk}")  # noqa: S605


def test_a_night_on_a_full_disk_sends_its_message_and_leaves_no_file_that_the_next_cannot_open(
    tmp_path: Path, full_disk: Path
) -> None:
    warehouse, filling = full_disk / "audit.duckdb", full_disk / "filling"
    try:
        with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        with running_webhooks() as webhooks:
            line = ("--warehouse", warehouse, "nightly", "quickstart")
            ended = promptaudit(tmp_path, *line, PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told"))
            (told,) = [request.json() for request in webhooks.of("/ok/told")]
        assert ended.code == 2
        refused(ended.err, "the disk is full")
        assert told["title"] == "quickstart: could not be measured"
        assert "the disk is full" in told["message"]
        filling.unlink()
        Warehouse(warehouse).apply_schema()
    finally:
        os.system(f"umount {full_disk}")  # noqa: S605


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount a read-only file system")
def test_a_read_only_folder(tmp_path: Path) -> None:
    os.system(f"mount -t tmpfs tmpfs {tmp_path} 2>/dev/null")  # noqa: S605
    try:
        path = predictions(tmp_path, GOOD_ROWS)
        if os.system(f"mount -o remount,ro {tmp_path} 2>/dev/null") != 0:  # noqa: S605
            pytest.skip("needs to mount a read-only file system")
        ended = promptaudit(tmp_path, "import", path, "--labels", "a,b")
        assert ended.code == 2
        refused(ended.err, "warehouse")
    finally:
        os.system(f"umount {tmp_path} 2>/dev/null")  # noqa: S605


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of so many megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    line = ["/usr/bin/env", "mount", "-t", "tmpfs", "-o", f"size={request.param}m", "tmpfs", str(disk)]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("this user may mount no disk")
    yield disk
    subprocess.run(["/usr/bin/env", "umount", str(disk)], check=True)


@pytest.mark.soak
@pytest.mark.parametrize("small_disk", [1, 2, 3, 5, 8, 13, 21, 28, 34], indirect=True)
def test_a_full_disk_is_one_line_and_the_same_import_ends_once_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    rows = [f"m,s{n},{variant},{'yes' if n % 3 else 'no'},yes" for n in range(60) for variant in range(6)]
    (tmp_path / "answers.csv").write_text("\n".join(["model,sample_id,variant_index,completion,gold_label", *rows]))
    line = ("import", str(tmp_path / "answers.csv"), "--task", "t", "--labels", "yes,no", "--audit", "a")
    ended = promptaudit_process(small_disk, *line, TMPDIR=str(tmp_path))
    assert ended.code == 2
    assert re.search("No space left on device|disk is full", ended.one_line())
    assert "Traceback" not in ended.err
    assert "a defect" not in ended.err
    subprocess.run(["/usr/bin/env", "mount", "-o", "remount,size=300m", str(small_disk)], check=True)
    ended = promptaudit_process(small_disk, *line, TMPDIR=str(tmp_path))
    assert ended.code == 0, ended.err
    assert promptaudit_process(small_disk, "verify").code == 0
