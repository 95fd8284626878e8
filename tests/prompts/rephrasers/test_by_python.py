"""A function of the user's own rewords, and what it raises is one line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from promptaudit.engines import Engine
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.select import open_rephraser
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import EngineError
from tests.support.own_code import entry_of

KEY = "sk-test-0123456789abcdef0123456789abcdef"


def no_engine(temperature: float | None) -> Engine:
    raise AssertionError(temperature)


def rephrased(folder: Path, body: str, n: int = 2, temperature: float | None = None) -> Sequence[str]:
    """What a function with this body makes of an instruction."""
    (folder / "lab.py").write_text(f"import os\ndef reword(text, n, temperature):\n    {body}\n")
    card = RephraserCard(kind="python", function="lab:reword", max_rounds=7)
    rephraser = open_rephraser(card, entry_of(card, folder).code, no_engine)
    assert rephraser.max_rounds == 7

    async def asked() -> Sequence[str]:
        try:
            return await rephraser.rephrase(Wording("t", "Sort it.", ("it",)), n, temperature, 0)
        finally:
            await rephraser.close()

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("return [f'{text} {n} {temperature}', 'b']", ["Sort it. 2 0.5", "b"]),
        ("return ('a', ' b ')", ["a", " b "]),
        ("yield from 'ab'", ["a", "b"]),
        ("return 'one'", ["one"]),
        ("return []", []),
    ],
)
def test_what_it_returns_is_proposed(tmp_path: Path, body: str, texts: list[str]) -> None:
    assert rephrased(tmp_path, body, temperature=0.5) == texts


def test_without_temperatures_it_is_given_none(tmp_path: Path) -> None:
    assert rephrased(tmp_path, "return [str(temperature)]") == ["None"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return None", "'lab:reword' returned no list of texts, found NoneType"),
        ("return ['a', 3]", "'lab:reword' returned no list of texts, found int, str"),
        ("raise ValueError('no model for ' + os.environ['A_KEY'])", "raised ValueError: no model for [hidden]"),
        ("import nowhere_at_all", "'lab:reword' raised ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("raise SystemExit", "'lab:reword' raised RuntimeError: it ended with SystemExit"),
    ],
)
def test_anything_else_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with pytest.raises(EngineError) as caught:
        rephrased(tmp_path, body)
    assert str(caught.value).startswith("EngineError: task 't' is not reworded: ")
    assert words in str(caught.value)
    assert caught.value.exit_code == 3
