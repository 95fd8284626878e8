"""A command of the user's own rewords: a JSON object on stdin, an array on stdout, and everything else is one line."""

from __future__ import annotations

import asyncio
import importlib.util
import py_compile
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from promptaudit.engines import Engine
from promptaudit.prompts.rephrasers import Rephraser, Wording
from promptaudit.prompts.rephrasers.by_command import BASE, PYTHON
from promptaudit.prompts.rephrasers.select import open_rephraser
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import CardError, EngineError
from tests.support.own_code import entry_of
from tests.support.processes import have_ended

KEY = "sk-test-0123456789abcdef0123456789abcdef"


def no_engine(temperature: float | None) -> Engine:
    raise AssertionError(temperature)


def opened(folder: Path, script: str, *words: str, timeout_s: float = 60) -> Rephraser:
    """The rephraser of a script in the registry `r` of a folder, which is a program of its own."""
    (folder / "r").mkdir(exist_ok=True)
    program = folder / "r" / "reword"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{script}\n")
    program.chmod(0o700)
    return of_command(folder / "r", "./reword", *words, timeout_s=timeout_s)


def of_command(root: Path, *words: str, **fields: object) -> Rephraser:
    card = RephraserCard.model_validate({"kind": "command", "command": words, **fields})
    return open_rephraser(card, entry_of(card, root).code, no_engine)


def asked(rephraser: Rephraser) -> Sequence[str]:
    return asyncio.run(rephraser.rephrase(Wording("t", "Sort it – now.", ()), 2, 0.5, 1))


def test_it_is_told_what_is_wanted_and_runs_in_a_copy_of_the_registry_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    script = (
        "print('loading', file=sys.stderr)\nopen('kept', 'w')\n"
        "print(json.dumps([sys.stdin.read(), os.getcwd(), *os.listdir('..'), *sys.argv[1:]]))"
    )
    sent, folder, *words = asked(opened(tmp_path, script, "--fast", "$HOME; a b"))
    assert sent == '{"task_id": "t", "instruction": "Sort it \\u2013 now.", "n": 2, "temperature": 0.5, "round": 1}\n'
    assert words == ["r", "--fast", "$HOME; a b"]  # no shell has read them, and nothing lies beside the folder
    assert (Path(folder).name, Path(folder).parent == tmp_path) == ("r", False)
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["reword"]


def test_it_is_given_the_variables_that_its_card_names_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "A_KEY": KEY,
        "HF_HOME": "/models",
        "OTHER": "x",
        "PYTHONPATH": str(tmp_path),
        "PATH": ".:/usr/bin:bin:/bin",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "all.py").write_text(
        "import json, os\nprint(json.dumps([f'{k}={v}' for k, v in os.environ.items()]))\n"
    )
    names = ["HF_HOME", "A_KEY", "PYTHONPATH", "NOT_SET"]
    seen = dict(line.split("=", 1) for line in asked(of_command(tmp_path, sys.executable, "all.py", environment=names)))
    assert seen["HF_HOME"] == "/models"
    assert seen["PATH"] == "/usr/bin:/bin"
    assert seen.keys() <= {"HF_HOME", *BASE, *PYTHON}


HELPER = "WORDS = ['honest']\n"
PLANTED = "WORDS = ['planted']\n"


def plant_cache(root: Path) -> None:
    """A compiled file that no source is compared with (PEP 552), as the import system reads it."""
    source, compiled = root / "helper.py", importlib.util.cache_from_source(str(root / "helper.py"))
    source.write_text(PLANTED)
    py_compile.compile(str(source), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    source.write_text(HELPER)


def plant_sourceless(root: Path) -> None:
    (root / "optional.src").write_text(PLANTED)
    py_compile.compile(str(root / "optional.src"), str(root / "optional.pyc"))
    (root / "optional.src").unlink()


def plant_in_hidden(root: Path) -> None:
    (root / ".lib").mkdir()
    (root / ".lib" / "optional.py").write_text(PLANTED)


@pytest.mark.parametrize("plant", [plant_cache, plant_sourceless, plant_in_hidden])
@pytest.mark.parametrize(
    "words",
    [
        ("reword.py",),
        ("-m", "models.reword"),
        ("{root}/reword.py",),
        ("{alias}/reword.py",),
        ("{alias}/./models/../reword.py",),
        ("-c", "import reword"),
        ("-c", "import sys; sys.path.insert(0, '{alias}'); import reword"),
        ("-c", "import runpy; runpy.run_path('{alias}/reword.py')"),
    ],
)
def test_what_is_planted_beside_trusted_code_and_not_compared_does_not_run(
    tmp_path: Path, plant: Callable[[Path], None], words: Sequence[str]
) -> None:
    root, alias = tmp_path / "r", tmp_path / "alias"
    root.mkdir()
    alias.symlink_to(root)
    script = (
        "import json, sys\nsys.path[1:1] = ['', '.lib']\nfrom helper import WORDS\n"
        "try:\n    from optional import WORDS\nexcept ImportError: pass\nprint(json.dumps(WORDS))\n"
    )
    for name in ("reword.py", "models/reword.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(script)
    (root / "helper.py").write_text(HELPER)
    named = (word.replace("{root}", str(root)).replace("{alias}", str(alias)) for word in words)
    rephraser = of_command(root, sys.executable, *named)
    plant(root)
    assert asked(rephraser) == ["honest"]


def test_a_script_elsewhere_reads_nothing_compiled_and_runs_as_it_was_looked_at(tmp_path: Path) -> None:
    root, tools = tmp_path / "r", tmp_path / "tools"
    for folder in (root, tools):
        folder.mkdir()
    (tools / "reword.py").write_text("import json, helper\nprint(json.dumps(helper.WORDS))\n")
    (tools / "helper.py").write_text(HELPER)
    rephraser = of_command(root, sys.executable, str(tools / "reword.py"))
    plant_cache(tools)
    assert asked(rephraser) == ["honest"]
    (tools / "reword.py").write_text("print('[\"planted\"]')\n")
    with pytest.raises(
        CardError, match=r"a file that command '.*reword\.py' in .* names changed since it was looked at"
    ):
        asked(rephraser)


def test_a_bare_name_is_looked_up_on_path_alone(tmp_path: Path) -> None:
    (tmp_path / "echo").write_text("#!/bin/sh\necho '[\"of the folder\"]'\n")
    (tmp_path / "echo").chmod(0o700)
    card = RephraserCard(kind="command", command=("echo", '["of PATH"]'))
    assert asked(open_rephraser(card, entry_of(card, tmp_path).code, no_engine)) == ["of PATH"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('[\"a\", 3]')", "printed no JSON array of strings"),
        ("print('{}')", "printed no JSON array of strings"),
        ("print('[' * 100000)", "printed no JSON array of strings"),
        ("print('[' * 30_000_000, flush=True); import time; time.sleep(600)", "printed no JSON array of strings"),
        ("print('[]', 'x'); print('no weights\\x1b[2J', file=sys.stderr)", "array of strings; it said: no weights [2J"),
        (f"sys.exit('key {KEY} refused')", "ended with exit code 1; it said: key [hidden] refused"),
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
        "import subprocess, time\nprint(subprocess.Popen(['sleep', '600']).pid, file=open(sys.argv[1], 'w'), flush=True)\n"
        "time.sleep(600)"
    )
    started = time.monotonic()
    with pytest.raises(EngineError, match=r"command '\./reword' took longer than 2 s$"):
        asked(opened(tmp_path, script, str(tmp_path / "pid"), timeout_s=2))
    assert time.monotonic() - started < 20
    assert have_ended([int((tmp_path / "pid").read_text())])


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    script = "open(sys.argv[1], 'w').write(str(os.getpid()))\nimport time; time.sleep(600)"
    rephraser = opened(tmp_path, script, str(tmp_path / "pid"))

    async def interrupted() -> None:
        task = asyncio.create_task(rephraser.rephrase(Wording("t", "Sort it.", ()), 1, None, 0))  # type: ignore[arg-type]
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert have_ended([int((tmp_path / "pid").read_text())])


@pytest.mark.parametrize("name", ["reword", "models/run.py", "data/words.txt"])
def test_a_folder_that_changed_since_it_was_looked_at_runs_nothing(tmp_path: Path, name: str) -> None:
    rephraser = opened(tmp_path, "raise AssertionError")
    (tmp_path / "r" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "r" / name).write_text("print('[]')")
    with pytest.raises(CardError, match=rf"a file of {tmp_path}/r, which code may use, changed since it was looked at"):
        asked(rephraser)


def test_a_program_that_cannot_be_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "reword").write_text("print('[]')")
    with pytest.raises(EngineError, match=r"command '\./reword' cannot be run: there is no such program"):
        asked(of_command(tmp_path, "./reword"))
