"""Work that is shown on a Prefect server of its own: its steps, its edges, its words, and its pages afterwards."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import environment, promptaudit, start

KEY = "sk-0123456789abcdef0123456789abcdef"
WORK = """
import sys
from dataclasses import dataclass
from pathlib import Path

from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import as_flow_run, flow_run_id, load_prefect, step
from promptaudit.registry.errors import EngineError

@dataclass(frozen=True)
class Subject:
    progress: Progress

@dataclass(frozen=True)
class Named:
    name: str
    notes: tuple[str, ...] = ()  # the empty tuple of each is the same object

def first(subject): return Named("first")

def second(subject, word, made): return Named("second")

def third(subject, made): return Named(f"third after {made.name}")

def fails(subject, made):
    error = EngineError(f"the server said: api_key={sys.argv[2]} is wrong, the last is 'quokka'")
    error.quotes = ("'quokka'",)
    raise error

subject = Subject(Progress())

def work():
    from prefect import task

    one = step(task(), first)(subject)
    two = step(task(task_run_name="second of {word}"), second)(subject, "two", one)
    return step(task(), third)(subject, one) if sys.argv[1] == "works" else step(task(), fails)(subject, two)

if sys.argv[1] == "plain":
    work = lambda: third(subject, first(subject))
else:
    load_prefect()

def show(body):
    from prefect import flow

    @flow(name="shown", flow_run_name="{word}", persist_result=False)
    def shown(word): return body()

    shown(sys.argv[1])

found = as_flow_run(work, show, "shown", Path("prefect").absolute(), subject.progress)
print(found.name, flow_run_id(), "prefect" in sys.modules)
"""


def shown(folder: Path, how: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Does the work in a process of its own."""
    said = environment(**{"PROMPTAUDIT_PREFECT": "on", "PREFECT_HOME": str(folder / "home")} | variables)
    line = [sys.executable, "-P", "-c", WORK, how, KEY]
    return subprocess.run(line, cwd=folder, env=said, capture_output=True, text=True, timeout=200, check=False)


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of what the servers kept."""
    with sqlite3.connect(folder / "prefect/flow_runs.db") as con:
        return con.execute(query).fetchall()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pieces of work, each on a server of its own: one of them fails."""
    place = tmp_path_factory.mktemp("shown")
    for how in ("works", "fails", "works"):
        done = shown(place, how)
        if how == "works":
            assert done.stdout == "third after first None True\n", done.stderr
        else:
            assert done.returncode == 1
            assert done.stderr.splitlines()[-1] == (
                "promptaudit.registry.errors.EngineError: "
                f"EngineError: the server said: api_key={KEY} is wrong, the last is 'quokka'"
            )
    return place


@pytest.mark.slow
def test_a_server_of_its_own_keeps_what_it_showed(folder: Path) -> None:
    runs = rows(folder, "select name, state_name, parameters from flow_run order by start_time")
    assert runs == [
        ("works", "Completed", '{"word": "works"}'),
        ("fails", "Failed", '{"word": "fails"}'),
        ("works", "Completed", '{"word": "works"}'),
    ]
    tasks = rows(folder, "select id, name, state_name, task_inputs from task_run order by start_time limit 3")
    names = {task[0].replace("-", ""): task[1] for task in tasks}
    edges = {
        name: {names[each["id"].replace("-", "")] for made in json.loads(inputs).values() for each in made}
        for _, name, _, inputs in tasks
    }
    assert edges == {"first": set(), "second of two": {"first"}, "third": {"first"}}
    assert {state for *_, state, _ in tasks} == {"Completed"}


@pytest.mark.slow
def test_a_step_that_fails_shows_its_words_without_keys(folder: Path) -> None:
    words = "EngineError: the server said: api_key=[hidden] is wrong, the last is [a text]"
    ((said,),) = rows(folder, "select message from task_run_state where type = 'FAILED'")
    assert said.endswith(f"StepFailed: {words}")
    assert ("Failed", words) in rows(folder, "select name, message from flow_run_state where type = 'FAILED'")
    logged = rows(folder, "select message from log where level >= 40")
    assert any(words in message for (message,) in logged)
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    assert [
        path for path in (folder / "home").rglob("*") if "storage" in path.parts
    ] == []  # results would lie there, pickled
    assert b"quokka" not in kept
    assert b"the server said" in kept


@pytest.mark.slow
def test_its_pages_are_served_to_whoever_has_the_login(folder: Path) -> None:
    (folder / "warehouse").mkdir(exist_ok=True)
    shutil.copytree(folder / "prefect", folder / "warehouse/prefect", dirs_exist_ok=True)
    serving = start(folder, "view", "--flows")
    try:
        assert serving.stderr is not None
        found = re.search(r"at (http://[\d.:]+), password (\S+); Ctrl-C", serving.stderr.readline())
        assert found is not None
        address, login = found.groups()
        filter_ = urllib.request.Request(f"{address}/api/flow_runs/filter", b"{}", {"Content-Type": "application/json"})  # noqa: S310
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(filter_, timeout=20)  # noqa: S310
        filter_.add_header("Authorization", f"Basic {b64encode(login.encode()).decode()}")
        with urllib.request.urlopen(filter_, timeout=20) as answer:  # noqa: S310
            assert sorted(run["name"] for run in json.load(answer)) == ["fails", "works", "works"]
        with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310
            assert b"Prefect" in answer.read()
    finally:
        serving.send_signal(signal.SIGINT)
        _, said = serving.communicate(timeout=60)
    assert serving.returncode == 130, said


def test_without_a_run_that_was_shown_there_are_no_pages(tmp_path: Path) -> None:
    ended = promptaudit(tmp_path, "view", "--flows")
    assert ended.code == 2
    assert "no run was shown by a Prefect server of its own" in ended.one_line()


def test_switched_off_the_same_work_is_done_without_prefect(tmp_path: Path) -> None:
    done = shown(tmp_path, "plain", PROMPTAUDIT_PREFECT="off")
    assert done.stdout == "third after first None False\n", done.stderr
    assert not (tmp_path / "prefect").exists()
