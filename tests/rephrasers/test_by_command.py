"""A command of the user's own rewords: a JSON object on stdin, an array on stdout, and everything else is one line."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from flows.engines import Engine
from flows.rephrasers import Rephraser, Wording
from flows.rephrasers.select import open_rephraser
from models_registry.cards import RephraserCard
from models_registry.errors import CardError, EngineError
from models_registry.own_code import with_sha256
from tests.support.processes import have_ended

KEY = "sk-test-0123456789abcdef0123456789abcdef"


def no_engine(temperature: float | None) -> Engine:
    raise AssertionError(temperature)


def opened(folder: Path, script: str, *words: str, timeout_s: float = 60) -> Rephraser:
    """The rephraser of a script in `folder`, which is a program of its own."""
    program = folder / "reword"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{script}\n")
    program.chmod(0o700)
    card = RephraserCard(kind="command", command=("./reword", *words), timeout_s=timeout_s)
    return open_rephraser(cast("RephraserCard", with_sha256(card, folder)), folder, no_engine)


def asked(rephraser: Rephraser) -> Sequence[str]:
    return asyncio.run(rephraser.rephrase(Wording("t", "Sort it – now.", ()), 2, 0.5, 1))


def test_it_is_told_what_is_wanted_and_runs_in_the_registry_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    script = "print('loading', file=sys.stderr)\nprint(json.dumps([sys.stdin.read(), os.getcwd(), *sys.argv[1:]]))"
    told, folder, *words = asked(opened(tmp_path, script, "--fast", "$HOME; a b"))
    assert told == '{"task_id": "t", "instruction": "Sort it \\u2013 now.", "n": 2, "temperature": 0.5, "round": 1}\n'
    assert (folder, words) == (str(tmp_path), ["--fast", "$HOME; a b"])  # no shell has read them


def test_a_bare_name_is_looked_up_on_path_alone(tmp_path: Path) -> None:
    (tmp_path / "echo").write_text("#!/bin/sh\necho '[\"of the folder\"]'\n")
    (tmp_path / "echo").chmod(0o700)
    card = RephraserCard(kind="command", command=("echo", '["of PATH"]'))
    assert asked(open_rephraser(cast("RephraserCard", with_sha256(card, tmp_path)), tmp_path, no_engine)) == ["of PATH"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('[\"a\", 3]')", "printed no JSON array of strings"),
        ("print('{}')", "printed no JSON array of strings"),
        ("print('[' * 100000)", "printed no JSON array of strings"),
        ("print('[]', 'x'); print('no weights\\x1b[2J', file=sys.stderr)", "array of strings; it said: no weights [2J"),
        (
            "sys.exit('key ' + os.environ['A_KEY'] + ' refused')",
            "ended with exit code 1; it said: key [hidden] refused",
        ),
        ("os.abort()", "ended with exit code -6"),
    ],
)
def test_anything_else_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with pytest.raises(EngineError) as caught:
        asked(opened(tmp_path, script))
    assert str(caught.value).startswith("EngineError: task 't' is not reworded: command './reword' ")
    assert words in str(caught.value)
    assert (str(caught.value).isprintable(), caught.value.exit_code) == (True, 3)


def test_one_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    script = (
        "import subprocess, time\nprint(subprocess.Popen(['sleep', '600']).pid, file=open('pid', 'w'), flush=True)\n"
        "time.sleep(600)"
    )
    started = time.monotonic()
    with pytest.raises(EngineError, match=r"command '\./reword' took longer than 2 s$"):
        asked(opened(tmp_path, script, timeout_s=2))
    assert time.monotonic() - started < 20
    assert have_ended([int((tmp_path / "pid").read_text())])


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    rephraser = opened(tmp_path, "open('pid', 'w').write(str(os.getpid()))\nimport time; time.sleep(600)")

    async def interrupted() -> None:
        task = asyncio.create_task(rephraser.rephrase(Wording("t", "Sort it.", ()), 1, None, 0))  # type: ignore[arg-type]
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert have_ended([int((tmp_path / "pid").read_text())])


def test_a_program_that_changed_or_cannot_be_run_is_one_line(tmp_path: Path) -> None:
    rephraser = opened(tmp_path, "print('[]')")
    (tmp_path / "reword").write_text("#!/bin/sh\necho '[\"x\"]'\n")
    with pytest.raises(CardError, match=r"command '\./reword' in .* has the sha256"):
        asked(rephraser)
    again = opened(tmp_path, "print('[]')")
    (tmp_path / "reword").chmod(0o600)
    with pytest.raises(EngineError, match=r"command '\./reword' cannot be run: there is no such program"):
        asked(again)
