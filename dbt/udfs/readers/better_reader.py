"""Finds the reader that would read more of some answers than their own reader does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.reasoning import parted

BUILT_IN = ("label", "label_in_text", "first_integer")
BUILT_IN_OF_NUMBERS = ("label", "first_integer", "label_in_text")
"""Readers to try of labels that are words, and of those that are all whole numbers."""
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
LONGEST_PATTERN, MOST_FIELDS = 400, 5
"""Characters of a pattern that is proposed, and fields of JSON answers that are tried, at most."""
_FIELD = re.compile(r"[A-Za-z_]\w{0,39}")
"""What a field is called that may be named in a terminal and written into a card as it stands."""


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """A completion that came `n` times, with the labels of its task and what the task's reader read in it."""

    completion: str
    labels: tuple[str, ...]
    label: str | None
    n: int = 1


def better_reader(answers: Sequence[SeenAnswer]) -> tuple[str | dict[str, str], int] | None:
    """Returns the reader that takes the most of the answers that were not read, and how many; None where none takes any.

    A reader is left out if it reads another label, or none, where a label was read already.
    """
    best = None
    for reader in _candidates(answers):
        text, n_more = json.dumps(reader), 0
        for answer in answers:
            label = read_answer(answer.completion, text, answer.labels).label
            if answer.label is not None and label != answer.label:
                break
            n_more += answer.n * (answer.label is None and label is not None)
        else:
            if n_more and (best is None or n_more > best[1]):
                best = reader, n_more
    return best


def in_yaml(reader: str | dict[str, str]) -> str:
    """Returns a reader as a card has it."""
    if isinstance(reader, str):
        return reader
    ((name, value),) = reader.items()
    quoted = value if _FIELD.fullmatch(value) else "'" + value.replace("'", "''") + "'"
    return f"{{{name}: {quoted}}}"


def _candidates(answers: Sequence[SeenAnswer]) -> Iterator[str | dict[str, str]]:
    """Gives readers to try; of two that take as many, the one that is given first is the better one."""
    labels = dict.fromkeys(chain.from_iterable(answer.labels for answer in answers))
    yield from BUILT_IN_OF_NUMBERS if all(map(_WHOLE_NUMBER.fullmatch, labels)) else BUILT_IN
    for field in _fields(answers):
        yield {"json_field": field}
    if all(label.isprintable() for label in labels):
        longest_first = sorted(labels, key=lambda label: (-len(label), label))
        named = "|".join(re.escape(label).replace(r"\ ", " ") for label in longest_first)
        pattern = rf"(?i:answer|label|category)(?i: is)?[^\w]+({named})\b"
        if len(pattern) <= LONGEST_PATTERN:
            yield {"regex": pattern}


def _fields(answers: Sequence[SeenAnswer]) -> list[str]:
    """Returns the fields of the answers that are JSON objects which hold a label."""
    found: dict[str, None] = {}
    for answer in answers:
        text = parted(answer.completion).answer
        try:
            said = json.loads(text[text.index("{") : text.rindex("}") + 1], strict=False)
        except (ValueError, RecursionError):
            continue
        held = (name for name, value in said.items() if str(value) in answer.labels and _FIELD.fullmatch(name))
        found.update(dict.fromkeys(held))
    return list(found)[:MOST_FIELDS]
