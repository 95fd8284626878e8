"""A function of the user's own as a model: what it is given, what its answer is, what becomes of its errors."""

from __future__ import annotations

import asyncio
import importlib.util
import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest

from promptaudit.engines import Answer, Request, open_engine, silent
from promptaudit.engines.python_function import PythonEngine, prompt_of
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.registry import Entry
from promptaudit.system.keys import content_id
from tests.support.engine_requests import request_of
from tests.support.own_code import entry_of as own_entry

KEY = "sk-test-0123456789abcdef0123456789abcdef"


def entry_of(folder: Path, body: str, **fields: object) -> Entry:
    """The entry of a card whose function has this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "lab.py").write_text(
        f"import os, threading, time\ncalls = []\ndef annotate(text, prompt):\n    calls.append(text)\n{lines}"
    )
    card = ModelCard.model_validate({"engine": "python", "model": "lab:annotate", **fields})
    return own_entry(card, folder)


def answers(entry: Entry, *requests: Request, say: Callable[[str], None] = silent) -> list[Answer]:
    async def asked() -> list[Answer]:
        engine = open_engine(entry, say=say)
        await engine.open()
        try:
            return list(await asyncio.gather(*(engine.answer(request) for request in requests)))
        finally:
            await engine.close()

    return asyncio.run(asked())


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptaudit.engines.python_function.wait_before", lambda _: 0.0)


@pytest.mark.parametrize(
    ("said", "completion"),
    [
        ("'yes'", "yes"),
        ("None", ""),
        ("3", "3"),
        ("' as it is\\n'", " as it is\n"),
        ("text + '|' + prompt", "x|Say it.\n\nx"),
    ],
)
def test_the_answer_is_what_the_function_says(tmp_path: Path, said: str, completion: str) -> None:
    (answer,) = answers(entry_of(tmp_path, f"return {said}"), request_of("x", prompt="Say it.\n\n"))
    assert answer.completion == completion
    assert (answer.finish_reason, answer.served_model) == ("stop", "lab:annotate")
    assert answer.latency_ms is not None
    assert not answer.attempts


def test_the_prompt_is_what_is_sent_without_a_message_that_is_the_text_alone() -> None:
    # as promptaudit.intra_pss sends it: the prompt, and the text as a message of its own
    assert prompt_of(request_of("x", messages=(("system", "Say it."), ("user", "x")))) == "Say it."
    assert (
        prompt_of(request_of("x", messages=(("system", "Be brief."), ("user", "Say it.\n\nx"))))
        == "Be brief.\n\nSay it.\n\nx"
    )


def test_calls_run_beside_each_other_where_the_card_says_so(tmp_path: Path) -> None:
    requests = [request_of(str(number)) for number in range(4)]
    name = "return threading.current_thread().name"
    assert open_engine(entry_of(tmp_path, name)).max_connections == 1
    assert len({answer.completion for answer in answers(entry_of(tmp_path, name), *requests)}) == 1
    # none ends before all have begun
    together = f"while len(calls) < 4:\n    time.sleep(0.001)\n{name}"
    many = entry_of(tmp_path, together, limits={"max_connections": 4})
    assert len({answer.completion for answer in answers(many, *requests)}) == 4


@pytest.mark.parametrize("error", ["ValueError('odd text')", "KeyError('odd')", "1 / 0", "AttributeError('odd')"])
def test_what_it_cannot_handle_is_a_permanent_error_of_that_cell(tmp_path: Path, error: str) -> None:
    body = (
        f"if text == 'bad':\n    raise {error}\nreturn 'yes'"
        if "/" not in error
        else f"return {error} if text == 'bad' else 'yes'"
    )
    said: list[str] = []
    bad, good = answers(entry_of(tmp_path, body), request_of("bad"), request_of("good"), say=said.append)
    assert bad.error is not None
    assert bad.error.startswith("'lab:annotate' raised ")
    assert not bad.attempts
    assert good.completion == "yes"
    assert said == [f"model 'asked', sample 's0': {bad.error}"]


@pytest.mark.parametrize(
    "error", ["TimeoutError('slow')", "RuntimeError('busy')", "type('RateLimitError', (Exception,), {})()"]
)
def test_another_error_is_tried_again(tmp_path: Path, error: str) -> None:
    body = f"if len(calls) < 3:\n    raise {error}\nreturn 'yes'"
    (answer,) = answers(entry_of(tmp_path, body), request_of())
    assert answer.completion == "yes"
    assert len(answer.attempts) == 2
    assert answer.attempts[0].error.startswith("'lab:annotate' raised ")
    (given_up,) = answers(entry_of(tmp_path, f"raise {error}", limits={"max_attempts": 2}), request_of())
    assert not given_up.is_landed
    assert len(given_up.attempts) == 2


def test_a_further_try_needs_room_in_the_budget(tmp_path: Path) -> None:
    engine = PythonEngine(entry_of(tmp_path, "raise OSError"), may_try=lambda: False)
    assert len(asyncio.run(engine.answer(request_of())).attempts) == 1


@pytest.mark.parametrize("body", ["import nowhere_at_all", "return undefined_name"])
def test_what_no_cell_can_survive_stops_the_model(tmp_path: Path, body: str) -> None:
    with pytest.raises(
        EngineError, match=r"^EngineError: model 'asked': 'lab:annotate' raised (ModuleNotFound|Name)Error: "
    ):
        answers(entry_of(tmp_path, body), request_of(), request_of())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nowhere_at_all", "'lab:annotate' cannot be loaded: ModuleNotFoundError"),
        ("annotate = 1", "lab.py has no function 'annotate'"),
        ("import os\nraise RuntimeError(os.environ['A_KEY'])", "RuntimeError: [hidden]"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    (tmp_path / "lab.py").write_text(text)
    entry = own_entry(ModelCard(engine="python", model="lab:annotate"), tmp_path)
    with pytest.raises(EngineError) as caught:
        answers(entry)
    assert str(caught.value).startswith("EngineError: models/m.yml: ")
    assert words in str(caught.value)


def test_a_file_that_changed_since_the_card_was_loaded_is_not_run(tmp_path: Path) -> None:
    entry = entry_of(tmp_path, "return 'yes'")
    (tmp_path / "lab.py").write_text("raise AssertionError")
    with pytest.raises(EngineError, match=r"models/m\.yml: a file of .* changed since it was looked at"):
        answers(entry)


@pytest.mark.parametrize("place", ["os.path.dirname(__file__)", "{root!r}", "os.path.relpath({root!r})"])
def test_a_module_beside_it_is_imported_as_it_was_looked_at_and_never_compiled(tmp_path: Path, place: str) -> None:
    root = tmp_path / "r"
    root.mkdir()
    module = f"helper_{content_id(str(tmp_path))}"  # imported once a process
    helper = root / f"{module}.py"
    helper.write_text("WORD = 'planted'\n")
    compiled = importlib.util.cache_from_source(str(helper))
    py_compile.compile(str(helper), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    helper.write_text("WORD = 'honest'\n")
    body = f"import sys\nsys.path.insert(0, {place.format(root=str(root))})\nfrom {module} import WORD\nreturn WORD"
    (answer,) = answers(entry_of(root, body), request_of())
    assert (answer.error, answer.completion) == (None, "honest")


def test_a_key_reaches_neither_an_error_nor_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("DB_PASSWORD", "yes")  # a word of answers too
    body = (
        "if text == 'bad':\n    raise ValueError('401 for ' + os.environ['A_KEY'])\nreturn 'yes ' + os.environ['A_KEY']"
    )
    said: list[str] = []
    bad, good = answers(entry_of(tmp_path, body), request_of("bad"), request_of("good"), say=said.append)
    assert bad.error == "'lab:annotate' raised ValueError: 401 for [hidden]"
    assert good.completion == "yes [hidden]"
    assert KEY not in "".join(said)


def test_a_function_that_hangs_lets_an_interrupt_through(tmp_path: Path) -> None:
    async def asked() -> None:
        engine = open_engine(entry_of(tmp_path, "time.sleep(600)"))
        try:
            await asyncio.wait_for(engine.answer(request_of()), 0.2)
        finally:
            await engine.close()

    with pytest.raises(TimeoutError):
        asyncio.run(asked())
