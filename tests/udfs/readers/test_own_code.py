"""A function is loaded as its file is trusted, and a reader is called where it is handed over as trusted."""

from __future__ import annotations

import compileall
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import duckdb
import pytest

from promptaudit.udfs import TRUSTED_READERS, plugin
from promptaudit.udfs.readers.own_code import OwnCodeError, load_function, load_readers
from promptaudit.udfs.readers.reading import Reading, read_answer


def written(path: Path, text: str) -> tuple[str, str]:
    """A file's place and sha256."""
    path.write_text(text)
    return str(path), hashlib.sha256(text.encode()).hexdigest()


def test_a_file_is_loaded_under_a_name_of_its_own(tmp_path: Path) -> None:
    place = written(tmp_path / "json.py", "import json\ndef loads(text):\n    return json.dumps([text, __file__])\n")
    loads = load_function("json:loads", *place)
    assert json.loads(loads("x")) == ["x", place[0]]
    assert sys.modules["json"] is json
    assert load_function("json:loads", *place) is loads  # the module runs once


def test_what_runs_is_what_was_hashed(tmp_path: Path) -> None:
    file, _ = written(tmp_path / "lab.py", "def f():\n    return 'compiled'\n")
    compileall.compile_file(file, quiet=1, invalidation_mode=None)
    assert Path(importlib.util.cache_from_source(file)).is_file()
    place = written(tmp_path / "lab.py", "def f():\n    return 'as written'\n")
    assert load_function("lab:f", *place)() == "as written"


@pytest.mark.parametrize(
    ("text", "function", "words"),
    [
        ("f = 1", "lab:f", "lab.py has no function 'f'"),
        ("def f(): ...", "lab:g", "lab.py has no function 'g'"),
        (
            "import nowhere_at_all",
            "lab:f",
            "'lab:f' cannot be loaded: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("raise SystemExit(3)", "lab:f", "'lab:f' cannot be loaded: SystemExit: 3"),
        ("def f(:", "lab:f", "'lab:f' cannot be loaded: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(tmp_path: Path, text: str, function: str, words: str) -> None:
    with pytest.raises(OwnCodeError, match=words):
        load_function(function, *written(tmp_path / "lab.py", text))


def test_a_file_that_changed_or_went_is_not_run(tmp_path: Path) -> None:
    file, sha256 = written(tmp_path / "lab.py", "def f(): ...")
    written(tmp_path / "lab.py", "raise AssertionError")
    with pytest.raises(OwnCodeError, match=r"lab\.py changed since it was looked at"):
        load_function("lab:f", file, sha256)
    Path(file).unlink()
    with pytest.raises(OwnCodeError, match=r"lab\.py cannot be read: No such file"):
        load_function("lab:f", file, sha256)


def test_an_installed_module_never_comes_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here_alone.py").write_text("raise AssertionError")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    with pytest.raises(OwnCodeError, match="No module named 'here_alone'"):
        load_function("here_alone:f", None, None)
    assert load_function("json.decoder:JSONDecoder.decode", None, None) is json.JSONDecoder.decode
    assert sys.path[:2] == ["", str(tmp_path)]


# ---------------------------------------------------------------- readers
READER = json.dumps({"python": {"function": "lab:read", "sha256": "0"}})
LABELS = ["yes", "no"]


@pytest.mark.parametrize(
    ("function", "label", "reason"),
    [
        (lambda *_: " yes ", "yes", None),
        (lambda _, labels: labels[1], "no", None),
        (lambda text, _: text[-3:], "yes", None),  # without its reasoning and the white space around
        (lambda *_: None, None, None),
        (lambda *_: "maybe", None, None),  # no label of the task
        (lambda *_: 1 / 0, None, "its reader raised ZeroDivisionError"),
    ],
)
def test_a_reading_is_a_label_of_the_task_or_none(function: object, label: str | None, reason: str | None) -> None:
    reading = read_answer("<think>no</think> So: yes\n", READER, LABELS, own={READER: function})  # type: ignore[dict-item]
    assert reading == Reading(label, is_blank=False, is_refusal=False, is_read=label is not None, reason=reason)


def test_a_label_is_compared_as_text() -> None:
    assert read_answer("three", READER, ["3", "4"], own={READER: lambda *_: 3}).label == "3"


@pytest.mark.parametrize("reader", [READER, '{"python": "os:system"}', '{"python": null, "regex": "x"}'])
def test_code_that_is_not_handed_over_is_never_called(reader: str) -> None:
    with pytest.raises(PermissionError, match="is code that is not trusted here, so it is not called"):
        read_answer("yes", reader, LABELS, own={'{"python": "lab:read"}': lambda *_: "yes"})


def test_sql_calls_the_readers_that_a_build_was_told_of_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, sha256 = written(
        tmp_path / "lab.py", "def read(completion, labels):\n    return labels[len(completion) % 2]\n"
    )
    query = "select read_answer('odd', ?, ['yes', 'no'], null).label"
    with duckdb.connect() as con:
        plugin.register(con)
        with pytest.raises(duckdb.Error, match=r'"os:system"} is code that is not trusted here'):
            con.execute(query, ['{"python": "os:system"}'])
        trusted = [{"reader": READER, "function": "lab:read", "file": file, "sha256": sha256, "folder": None}]
        monkeypatch.setenv(TRUSTED_READERS, json.dumps(trusted))
        assert con.execute(query, [READER]).fetchall() == [("no",)]
        with pytest.raises(duckdb.Error, match=r'"os:system"} is code that is not trusted here'):
            con.execute(query, ['{"python": "os:system"}'])
    assert load_readers([]) == {}
