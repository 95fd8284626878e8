"""A chat prompt is read from JSON or YAML in OpenAI's form; what is no text is refused in a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.cards.read_prompt import read_prompt
from promptaudit.registry.errors import PromptauditError

TURNS = [{"role": "system", "content": "Say yes or no."}, {"role": "user", "content": '{text} {"a": 1}'}]
READ = (("system", "Say yes or no."), ("user", '{text} {"a": 1}'))


def written(folder: Path, text: str, name: str = "prompt.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("body", [TURNS, {"messages": TURNS}])
def test_a_list_and_an_object_with_one_are_read(tmp_path: Path, body: object) -> None:
    assert read_prompt(written(tmp_path, json.dumps(body, indent="\t"))).messages == READ


def test_yaml_is_read_and_its_texts_stay_as_written(tmp_path: Path) -> None:
    text = """
- {role: system, content: Say yes or no.}
- {role: user, content: '{text} {"a": 1}'}
- {role: assistant, content: no}
"""
    assert read_prompt(written(tmp_path, text, "prompt.yml")).messages == (*READ, ("assistant", "no"))


def test_what_stands_beside_the_messages_is_told(tmp_path: Path) -> None:
    body = {"model": "m", "messages": TURNS, "temperature": 0, "tools": []}
    assert read_prompt(written(tmp_path, json.dumps(body))).left_out == ("model", "temperature", "tools")


def test_text_parts_stand_in_lines(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "{two}"}]
    prompt = read_prompt(written(tmp_path, json.dumps([{"role": "user", "content": parts}])))
    assert prompt.messages == (("user", "one\n{two}"),)


def user(**fields: object) -> list[dict[str, object]]:
    return [TURNS[0], {"role": "user", "content": "x", **fields}]  # type: ignore[list-item]


IMAGE = [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
FAULTS: dict[str, tuple[Any, str]] = {
    "tools": ({"messages": TURNS, "tools": [{"type": "function"}]}, "prompt.json: tools: tools are not taken"),
    "a call": (user(tool_calls=[{"id": "1"}]), "prompt.json: messages.1: tool_calls: tools are not taken"),
    "a tool's turn": (user(role="tool"), "prompt.json: messages.1.role: 'tool': tools are not taken"),
    "an image": (user(content=IMAGE), "prompt.json: messages.1.content.1: a part of type 'image_url'; images, sound"),
    "a role": (user(role="asst"), "prompt.json: messages.1.role: 'asst' is no role; nearest: assistant"),
    "a field": (user(contents="x"), "prompt.json: messages.1: unknown field 'contents' of a message; nearest: content"),
    "no text": (user(content=None), "prompt.json: messages.1.content: it is no text, nor a list of text parts"),
    "half a character": (user(content="\ud83d"), "prompt.json: messages.1.content: it holds half of a character"),
    "a text alone": (["x"], "prompt.json: messages.0: a message is an object with role and content"),
    "no messages": (
        {"message": TURNS},
        "prompt.json: messages: a prompt is a list of messages, each with role and content;",
    ),
    "an empty list": ([], "prompt.json: messages: a prompt is a list of messages, each with role and content"),
}


@pytest.mark.parametrize(("body", "message"), FAULTS.values(), ids=FAULTS)
def test_what_is_no_prompt_of_texts_is_refused_in_a_line(tmp_path: Path, body: object, message: str) -> None:
    with pytest.raises(PromptauditError) as caught:
        read_prompt(written(tmp_path, json.dumps(body)))
    assert (caught.value.exit_code, len(caught.value.lines)) == (2, 1)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("prompt.json", "[{", "prompt.json: not JSON"),
        ("prompt.json", '[{"role": "user", "role": "system"}]', "a key stands twice"),
        ("prompt.json", "[" * 100_000, "prompt.json: JSON nested too deep"),
        ("prompt.json", " " * 1_000_001, "prompt.json: too large"),
        ("prompt.yml", "- &x {role: user, content: a}\n- *x\n", "prompt.yml line 2: aliases are refused"),
        ("prompt.yml", "", "prompt.yml: messages: a prompt is a list of messages"),
    ],
)
def test_files_are_read_with_the_limits_of_cards(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(PromptauditError) as caught:
        read_prompt(written(tmp_path, text, name))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PromptauditError, match=r"absent\.json: cannot be read: No such file"):
        read_prompt(tmp_path / "absent.json")
