"""How each reader reads the texts of `tests/recorded_answers`, of which a person's reading is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple

from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.math.equal import MathEqual
from promptaudit.udfs.scoring.math.final_answer import final_answer, is_mathematics

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
    comparison = MathEqual(n_processes=1)
    for text in texts(half):
        for reader in READERS[text["kind"]]:
            found = _by_math(text, comparison) if reader == "math_equal" else _by(reader, text)
            reading = text["reading"]
            outcome: Outcome = "misread"
            if found == reading:
                outcome = "none" if reading is None else "right"
            elif found is None:
                outcome = "unread"
            yield Read(reader, text, found, outcome)


def _by(reader: str, text: dict[str, Any]) -> str | None:
    labels, card = text.get("labels"), json.dumps(reader)
    if reader == "option_letter":
        labels = list(ascii_uppercase[: len(text["choices"])])
        card = json.dumps({reader: labels})
    elif reader in ("json_field", "regex"):
        card = json.dumps({reader: text["field" if reader == "json_field" else "pattern"]})
    return read_answer(text["completion"], card, labels).label


def _by_math(text: dict[str, Any], comparison: MathEqual) -> str | None:
    """The reading itself where the answer that is found equals it."""
    answer = final_answer(parted(text["completion"]).answer)
    if answer is None or text["reading"] is None:
        return answer if answer is not None and is_mathematics(answer) else None
    if comparison.equal(parted(text["completion"]).answer, [text["reading"]]).is_equal:
        return str(text["reading"])
    return answer if is_mathematics(answer) else None
