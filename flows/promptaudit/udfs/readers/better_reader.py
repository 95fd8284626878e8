"""Finds a reader that reads more of the given answers than their task's own reader does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from promptaudit.udfs.readers.commitment import DENIED
from promptaudit.udfs.readers.labels import LABEL_READERS, label
from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.reasoning import parted

BUILT_IN = ("label", "label_in_text", "first_integer")
BUILT_IN_OF_NUMBERS = ("label", "first_integer", "label_in_text")
"""BUILT_IN: readers to try where labels are words. This: where all labels are whole numbers."""
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
LONGEST_PATTERN, MOST_FIELDS = 400, 5
"""At most so many characters of a proposed pattern, and fields of JSON answers that are tried."""
_OF_YAML = ("on", "off", "yes", "no", "true", "false", "null", "y", "n")
# Names of fields that may stand in a terminal and in a card without quotes.
_FIELD = re.compile(r"[A-Za-z_]\w{0,39}")


MOST_DISAGREED = 0.01
"""Two readers contradict each other where they differ in more than this share of the answers that both read."""
EXAMPLES = 3
MOST_COMPARED, LONGEST_COMPARED = 200, 2000
"""Readers are compared on at most so many texts that are more than a label, each of at most so many characters."""


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """A completion that came `n` times, with its task's labels, the label that was read, and the gold label."""

    completion: str
    labels: tuple[str, ...]
    label: str | None
    n: int = 1
    gold: str | None = None


class Advice(NamedTuple):
    """A reader that reads more answers: how many more, and examples of them with the labels that it reads."""

    reader: str | dict[str, str]
    n_more: int
    examples: tuple[tuple[str, str], ...]


def better_reader(answers: Sequence[SeenAnswer]) -> Advice | None:
    """Finds the reader that reads most of the answers that were not read; None where none can be advised.

    It passes over:
    - a reader that reads another label, or none, where a label was read already;
    - a reader whose labels are all the same though the gold labels are not;
    - of two readers that contradict each other in more than MOST_DISAGREED of the answers that both read, the one that
      meets the gold labels less often; without gold labels, the one that looks less closely at the form.
    """
    known = []
    for reader in _candidates(answers):
        text = json.dumps(reader)
        labels = [read_answer(answer.completion, text, answer.labels).label for answer in answers]
        if all(answer.label in (None, read) for answer, read in zip(answers, labels, strict=True)):
            known.append((reader, labels))
    advised: list[tuple[str | dict[str, str], list[str | None]]] = []
    for reader, labels in known:
        rivals = [other for _, other in known if other is not labels and _contradict(answers, labels, other)]
        is_best = all(_meets(answers, labels, other) >= _meets(answers, other, labels) for other in rivals)
        is_earlier = not any(_contradict(answers, labels, other) for _, other in advised)
        if is_best and is_earlier and not _is_constant(answers, labels):
            advised.append((reader, labels))
    best = max(advised, key=lambda each: _n_more(answers, each[1]), default=None)
    if best is None or not _n_more(answers, best[1]):
        return None
    read = {
        answer.completion: found
        for answer, found in zip(answers, best[1], strict=True)
        if answer.label is None and found is not None
    }
    return Advice(best[0], _n_more(answers, best[1]), tuple(list(read.items())[:EXAMPLES]))


class Disagreement(NamedTuple):
    """A reader that contradicts the task's own: in how many answers, and examples with both labels.

    Where it reads that the label is denied, its label is `denied`.
    """

    reader: str
    n: int
    n_compared: int
    examples: tuple[tuple[str, str, str], ...]


def disagreement(answers: Sequence[SeenAnswer], reader: str) -> Disagreement | None:
    """Finds the reader of whole texts that most contradicts `reader`, the JSON of the reader that read these answers.

    None where no reader contradicts it in more than MOST_DISAGREED of them. A reader of one field is not compared with
    readers of the text around it, nor is the user's own.
    """
    own = json.loads(reader)
    if "regex" not in own if isinstance(own, dict) else own not in LABEL_READERS:
        return None
    read = [answer for answer in answers if answer.label is not None]
    alone, more = list[SeenAnswer](), list[SeenAnswer]()
    for answer in read:
        (alone if answer.completion.strip() in answer.labels else more).append(answer)
    more = [answer for answer in more if len(answer.completion) <= LONGEST_COMPARED][:MOST_COMPARED]
    n_compared = sum(answer.n for answer in (*alone, *more))
    are_numbers = all(_WHOLE_NUMBER.fullmatch(each) for answer in answers[:1] for each in answer.labels)
    found = None
    for other in BUILT_IN_OF_NUMBERS if are_numbers else BUILT_IN[:2]:
        text, differing = json.dumps(other), list[tuple[int, tuple[str, str, str]]]()
        for answer in more if other != own else ():
            reading = read_answer(answer.completion, text, answer.labels)
            said = reading.label or (DENIED if reading.reason == DENIED else answer.label)
            if answer.label is not None and said != answer.label:
                differing.append((answer.n, (answer.completion, answer.label, str(said))))
        n = sum(times for times, _ in differing)
        if n > MOST_DISAGREED * n_compared and (found is None or n > found.n):
            found = Disagreement(other, n, n_compared, tuple(example for _, example in differing[:EXAMPLES]))
    return found


def _n_more(answers: Sequence[SeenAnswer], labels: Sequence[str | None]) -> int:
    return sum(
        answer.n for answer, read in zip(answers, labels, strict=True) if answer.label is None and read is not None
    )


def _contradict(answers: Sequence[SeenAnswer], labels: Sequence[str | None], others: Sequence[str | None]) -> bool:
    both = [
        (answer.n, read != other)
        for answer, read, other in zip(answers, labels, others, strict=True)
        if read is not None and other is not None
    ]
    return sum(n for n, differs in both if differs) > MOST_DISAGREED * sum(n for n, _ in both)


def _meets(answers: Sequence[SeenAnswer], labels: Sequence[str | None], others: Sequence[str | None]) -> int:
    return sum(
        answer.n
        for answer, read, other in zip(answers, labels, others, strict=True)
        if read is not None and read == answer.gold and other not in (None, read)
    )


def _is_constant(answers: Sequence[SeenAnswer], labels: Sequence[str | None]) -> bool:
    golds = {answer.gold for answer in answers if answer.gold is not None}
    return len(golds) > 1 and len({read for read in labels if read is not None}) == 1 and len(answers) > EXAMPLES


def as_option(reader: str | dict[str, str]) -> str:
    """Writes a reader as the option `--reader` takes it."""
    return reader if isinstance(reader, str) else "=".join(*reader.items())


def in_yaml(reader: str | dict[str, str]) -> str:
    """Writes a reader as it stands in a card."""
    if isinstance(reader, str):
        return reader
    ((name, value),) = reader.items()
    is_bare = _FIELD.fullmatch(value) and value.casefold() not in _OF_YAML
    quoted = value if is_bare else "'" + value.replace("'", "''") + "'"
    return f"{{{name}: {quoted}}}"


def _candidates(answers: Sequence[SeenAnswer]) -> Iterator[str | dict[str, str]]:
    # of two that read as many, the earlier one is the better
    labels = dict.fromkeys(chain.from_iterable(answer.labels for answer in answers))
    for field in _fields(answers):
        yield {"json_field": field}
    yield from BUILT_IN_OF_NUMBERS if all(map(_WHOLE_NUMBER.fullmatch, labels)) else BUILT_IN
    if all(label.isprintable() for label in labels):
        longest_first = sorted(labels, key=lambda label: (-len(label), label))
        named = "|".join(re.escape(label).replace(r"\ ", " ") for label in longest_first)
        pattern = rf"(?i:answer|label|category)(?i: is)?[^\w]+({named})\b"
        if len(pattern) <= LONGEST_PATTERN:
            yield {"regex": pattern}


def _fields(answers: Sequence[SeenAnswer]) -> list[str]:
    found: dict[str, None] = {}
    for answer in answers:
        text = parted(answer.completion).answer
        try:
            said = json.loads(text[text.index("{") : text.rindex("}") + 1], strict=False)
        except (ValueError, RecursionError):
            continue
        values = said.items() if isinstance(said, dict) else ()
        held = (name for name, value in values if label(str(value), answer.labels) and _FIELD.fullmatch(name))
        found.update(dict.fromkeys(held))
    return list(found)[:MOST_FIELDS]
