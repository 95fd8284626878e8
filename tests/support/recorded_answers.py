"""How each reader reads the texts of `tests/recorded_answers`, of which a person's reading is known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple

from promptaudit.udfs.reasoning import parted
from tests.support.readings import TODAY, Asked, readings

FOLDER = Path(__file__).parents[1] / "recorded_answers"
Outcome = Literal["right", "unread", "misread", "none"]
READERS = {
    "classification": ("label", "label_in_text"),
    "rating": ("label", "label_in_text", "first_integer"),
    "multiple_choice": ("option_letter",),
    "json": ("json_field",),
    "regex": ("regex",),
    "math": ("math_equal",),
}


class Read(NamedTuple):
    """What a reader made of one text: right, no label though a person reads one, another than a person reads, or rightly none."""

    reader: str
    text: dict[str, Any]
    found: str | None
    outcome: Outcome


def texts(half: str) -> list[dict[str, Any]]:
    """Returns the texts of a half, `known` or `unseen`."""
    return [json.loads(line) for line in (FOLDER / f"{half}.jsonl").read_text("utf-8").splitlines()]


def read(half: str) -> Iterator[Read]:
    """Yields what every reader that is for a kind of text makes of the texts of a half."""
    for reader, own in by_reader(half).items():
        found = readings(TODAY, reader, [asked(reader, text) for text in own])
        yield from read_as(reader, own, found)


def read_as(reader: str, own: Sequence[dict[str, Any]], found: Sequence[str | None]) -> Iterator[Read]:
    """Yields texts with what a reader found in them, and whether a person reads that."""
    for text, label in zip(own, found, strict=True):
        outcome: Outcome = "misread"
        if label == text["reading"]:
            outcome = "none" if label is None else "right"
        elif label is None:
            outcome = "unread"
        yield Read(reader, text, label, outcome)


def by_reader(half: str) -> dict[str, list[dict[str, Any]]]:
    """Returns the texts of a half that each reader is for."""
    own: dict[str, list[dict[str, Any]]] = {}
    for text in texts(half):
        for reader in READERS[text["kind"]]:
            own.setdefault(reader, []).append(text)
    return own


def asked(reader: str, text: dict[str, Any]) -> Asked:
    """Returns what a reader is told of a text."""
    labels, card = text.get("labels"), json.dumps(reader)
    if reader == "math_equal":
        return parted(text["completion"]).answer, card, labels, text["reading"]
    if reader == "option_letter":
        labels = list(ascii_uppercase[: len(text["choices"])])
        card = json.dumps({reader: labels})
    elif reader in ("json_field", "regex"):
        card = json.dumps({reader: text["field" if reader == "json_field" else "pattern"]})
    return text["completion"], card, labels, text["reading"]
