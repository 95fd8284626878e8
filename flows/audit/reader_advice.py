"""Says which reader would take more of the first answers than the reader of their task does, and where to write it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from flows.audit.first_answers import FIRST, Read
from flows.engines import Answer, Request
from flows.system.keys import as_json
from udfs.reading import MAX_READ_CHARACTERS, read_answer
from udfs.reasoning import parted

BUILT_IN = ("label_in_text", "first_integer")
LONGEST_PATTERN, MOST_FIELDS = 400, 5
"""Characters of a pattern that is proposed, and fields of JSON answers that are tried, at most."""
_FIELD = re.compile(r"[A-Za-z_]\w{0,39}")
"""What a field is called that may be named in a terminal and written into a card as it stands."""


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """One of the first completions of a task, with its labels and what the task's reader read in it."""

    completion: str
    labels: tuple[str, ...]
    label: str | None


class ReaderAdvice:
    """The first answers of a model by task; `files` has the card's file of each task whose reader its card names."""

    def __init__(self, files: Mapping[str, str], read: Read) -> None:
        self._files, self._read = files, read
        self._answers: dict[str, list[FirstAnswer]] = defaultdict(list)
        self._n = 0

    def read(self, request: Request, answer: Answer) -> tuple[str | None, bool]:
        """Returns the label of an answer and whether it could be read, and keeps it in mind if it is one of the first."""
        label, is_read = self._read(request, answer)
        if answer.completion is not None and self._n < FIRST and request.task_id in self._files:
            self._n += 1
            first = FirstAnswer(answer.completion[:MAX_READ_CHARACTERS], tuple(request.labels), label)
            self._answers[request.task_id].append(first)
        return label, is_read

    def lines(self) -> Iterator[str]:
        """Gives a line for each task of which another reader would take more answers."""
        for task_id, answers in self._answers.items():
            n_unread = sum(answer.label is None for answer in answers)
            best = better_reader(answers) if n_unread else None
            if best is None:
                continue
            reader, n_more = best
            yield (
                f"task '{task_id}': {n_unread} of the first {len(answers)} answers could not be read; "
                f"`reader: {in_yaml(reader)}` in {self._files[task_id]} would read {n_more} of them"
            )


def better_reader(answers: Sequence[FirstAnswer]) -> tuple[str | dict[str, str], int] | None:
    """Returns the reader that takes the most of the answers that were not read, and how many; None where none takes any.

    A reader that reads another label, or none, where one was read already is none.
    """
    best = None
    for reader in _candidates(answers):
        text, n_more = as_json(reader), 0
        for answer in answers:
            label = read_answer(answer.completion, text, answer.labels).label
            if answer.label is not None and label != answer.label:
                break
            n_more += answer.label is None and label is not None
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


def _candidates(answers: Sequence[FirstAnswer]) -> Iterator[str | dict[str, str]]:
    """Gives readers to try; of two that take as many, the one that is given first is the better one."""
    yield from BUILT_IN
    for field in _fields(answers):
        yield {"json_field": field}
    labels = dict.fromkeys(chain.from_iterable(answer.labels for answer in answers))
    if all(label.isprintable() for label in labels):
        longest_first = sorted(labels, key=lambda label: (-len(label), label))
        named = "|".join(re.escape(label).replace(r"\ ", " ") for label in longest_first)
        pattern = rf"(?i:answer|label|category)(?i: is)?[^\w]+({named})\b"
        if len(pattern) <= LONGEST_PATTERN:
            yield {"regex": pattern}


def _fields(answers: Sequence[FirstAnswer]) -> list[str]:
    """Returns the fields of the answers that are JSON objects which hold a label."""
    found: dict[str, None] = {}
    for answer in answers:
        text = parted(answer.completion).answer
        try:
            said = json.loads(text[text.index("{") : text.rindex("}") + 1])
        except (ValueError, RecursionError):
            continue
        held = (name for name, value in said.items() if str(value) in answer.labels and _FIELD.fullmatch(name))
        found.update(dict.fromkeys(held))
    return list(found)[:MOST_FIELDS]
