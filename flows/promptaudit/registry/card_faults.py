"""Checks the fields of a card and reports every fault in a line with its place and the nearest right word."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from promptaudit.registry.base import Faults
from promptaudit.registry.cards import SELF, AuditCard, Card, ModelCard
from promptaudit.registry.errors import CardError, nearest, raise_all

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_ID = 200
MAX_SHOWN = 60
GONE: Mapping[tuple[type[Card], str | int], str] = {(AuditCard, "stop"): "; `stop` is gone: use samples.limit"}
Lines = Mapping[tuple[str | int, ...], int]


def place_of(file: str, lines: Lines, *path: str | int) -> str:
    """Gives `file line n` of the field at `path`, or of the nearest thing around it."""
    while path and path not in lines:
        path = path[:-1]
    return f"{file} line {lines.get(path, 1)}"


def card_of(kind: type[Card], name: str, body: Any, file: str, lines: Lines) -> Card:  # noqa: ANN401 - whatever YAML holds
    """Builds the card of a kind from a body of YAML; raises CardError for every fault of it at once."""
    where = functools.partial(place_of, file, lines)
    if not name or len(name) > MAX_ID or not name.isprintable():
        msg = f"{where(name)}: a card's id is 1 to 200 printable characters, found {name!r}"
        raise CardError(msg)
    if kind is ModelCard and name == SELF:
        msg = f"{where(name)}: no model is called '{SELF}': in a rephraser's card it is each model that is asked"
        raise CardError(msg)
    if not isinstance(body, dict):
        msg = f"{where(name)}: card '{name}' must be a mapping of fields, found {_shown(body)}"
        raise CardError(msg)
    try:
        return kind.model_validate(body)
    except ValidationError as invalid:
        errors = _one_a_field(name, invalid.errors(include_url=False), lines)
    raise_all([CardError(line) for error in errors for line in _messages(kind, name, error, lines, where)])
    raise AssertionError  # there is at least one


def _one_a_field(name: str, errors: Iterable[ErrorDetails], lines: Lines) -> list[ErrorDetails]:
    # keeps the most specific error of each field, and drops errors of a whole that is wrong only because a part is;
    # a field that may have several forms has errors of each form
    of_field: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for error in errors:
        path = (name, *error["loc"])
        is_absent = error["type"] == "missing" and path[:-1] in lines
        while not is_absent and len(path) > 1 and path not in lines:
            path = path[:-1]
        of_field.setdefault(path, []).append(error)
    vagueness = {"extra_forbidden": 1, "missing": 2, "literal_error": 2, "model_type": 3}
    wholes = {path[:length] for path in of_field for length in range(1, len(path))}
    return [
        min(same_field, key=lambda error: vagueness.get(error["type"], 0))
        for path, same_field in of_field.items()
        if path not in wholes
    ]


def _messages(kind: type[Card], name: str, error: ErrorDetails, lines: Lines, where: Callable[..., str]) -> list[str]:
    # one message, or one for each rule between fields that is broken
    path: tuple[str | int, ...] = ()
    for index, part in enumerate(error["loc"], start=1):
        is_form = isinstance(part, str) and (name, *path, part) not in lines  # its name stands in no file
        path += () if is_form and index < len(error["loc"]) else (part,)
    field_path = ".".join(str(part) for part in path)
    if error["type"] == "extra_forbidden":
        model = _model_at(kind, error["loc"][:-1])
        hint = GONE.get((model, path[-1])) or nearest(str(path[-1]), model.model_fields)
        return [f"{where(name, *path)}: unknown field '{field_path}' of '{name}'{hint}"]
    if error["type"] == "missing":
        return [f"{where(name, *path)}: '{name}' needs the field '{field_path}'"]
    is_hidden = bool(
        {"base_url", "api_key_env", "notify_blocks"} & set(path)
    )  # where a key may have been put by mistake
    is_long = isinstance(error["input"], dict | list | tuple | Card)
    instead = "" if is_hidden or is_long else f", found {_shown(error['input'])}"
    cause = error.get("ctx", {}).get("error")
    texts = cause.messages if isinstance(cause, Faults) else [error["msg"].removeprefix("Value error, ")]
    return [f"{where(name, *path)}: {field_path or name}: {text}{instead}" for text in texts]


def _model_at(kind: type[Card], path: tuple[str | int, ...]) -> type[Card]:
    model = kind
    for part in path:
        annotation = getattr(model.model_fields.get(str(part)), "annotation", None)
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        cards = [candidate for candidate in candidates if isinstance(candidate, type) and issubclass(candidate, Card)]
        # of several forms the first: each has an error of its own, and the first one's is shown
        model = next(iter(cards), model)
    return model


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
