"""Reads a user's chat prompt: a JSON or YAML file in the form of OpenAI's `messages`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, get_args

from promptaudit.prompts.messages import Messages
from promptaudit.registry.cards import Message
from promptaudit.registry.errors import DataError, nearest
from promptaudit.registry.read_json import escape
from promptaudit.registry.read_yaml import read_value

ROLES: tuple[str, ...] = get_args(Message.model_fields["role"].annotation)
OF_A_MESSAGE = ("role", "content")
TOOLS = ("tools", "tool_choice", "tool_calls", "tool_call_id", "functions", "function_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """The messages of a file, as they stand there, and the names of the other fields there."""

    file: str
    messages: Messages
    left_out: tuple[str, ...] = ()


def read_prompt(path: Path) -> ChatPrompt:
    """Reads the prompt of a file: a list of messages with role and content, or an object with such `messages`.

    A content may be a list of text parts, each of which becomes a line of its own. Raises DataError, or CardError for
    no YAML, naming the file and the field.
    """
    file = str(path)
    value = read_value(path, file)
    body = value if isinstance(value, dict) else {"messages": value}
    _refuse_tools(body, file)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        hint = nearest("messages", body) if "messages" not in body else ""
        _refuse(f"{file}: messages", f"a prompt is a list of messages, each with role and content{hint}")
    return ChatPrompt(
        file=file,
        messages=tuple(_message(each, f"{file}: messages.{place}") for place, each in enumerate(messages)),
        left_out=tuple(name for name in body if name != "messages"),
    )


def _refuse(where: str, what: str) -> NoReturn:
    msg = f"{where}: {what}"
    raise DataError(msg)


def _refuse_tools(fields: dict[str, Any], where: str) -> None:
    name = next((name for name in TOOLS if fields.get(name)), None)
    if name is not None:
        _refuse(f"{where}: {name}", "tools are not taken; a prompt is text alone")


def _message(value: object, where: str) -> tuple[str, str]:
    if not isinstance(value, dict):
        _refuse(where, "a message is an object with role and content")
    _refuse_tools(value, where)
    odd = next((name for name in value if name not in (*OF_A_MESSAGE, *TOOLS)), None)
    if odd is not None:
        _refuse(where, f"unknown field '{odd[:80]}' of a message{nearest(odd, OF_A_MESSAGE)}")
    role = value.get("role")
    if role in ("tool", "function"):
        _refuse(f"{where}.role", f"'{role}': tools are not taken; a prompt is text alone")
    if role not in ROLES:
        _refuse(f"{where}.role", f"{str(role)[:80]!r} is no role{nearest(str(role), ROLES)}")
    return str(role), _text(value.get("content"), f"{where}.content")


def _text(content: object, where: str) -> str:
    if isinstance(content, list):
        return "\n".join(_part(each, f"{where}.{place}") for place, each in enumerate(content))
    if not isinstance(content, str):
        _refuse(where, "it is no text, nor a list of text parts")
    if escape(content)[1]:
        _refuse(where, "it holds half of a character (a lone surrogate), which cannot be sent")
    return content


def _part(part: object, where: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind != "text" or not isinstance(part.get("text"), str):
        found = f"a part of type {str(kind)[:40]!r}" if kind not in (None, "text") else "no text part"
        _refuse(where, f"{found}; images, sound and files are not taken, {{type: text, text: ...}} is")
    return _text(part["text"], where)
