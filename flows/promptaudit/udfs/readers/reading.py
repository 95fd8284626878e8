"""Reads a completion: the label it gives, whether it is blank, and whether it refuses.

The task's card names the reader: `exact`, `label`, `label_in_text` and `first_integer` (`udfs.readers.labels`),
`{"regex": pattern}` (RE2: its first group, else the whole match), `{"json_field": "a.b"}` (a field of the JSON object
the completion is). `{"python": {"function": "module:function", "sha256": …}}` is the user's own function of
(completion, labels). It is called where the caller passes it in as trusted, else refused: readers stand in the
warehouse, which may belong to somebody else.

For questions: `{"option_letter": [signs]}` (the option last committed to, by the signs its template gave them, in the
order of the labels), `open` (no label is looked for: the text itself is the answer), `{"fields": {name: rule}}` (read
where a JSON object in it has any of the fields; `udfs.scoring.fields` reads their values).
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import re2

from promptaudit.udfs import TRUSTED_READERS
from promptaudit.udfs.readers.held import held_by_field, held_by_pattern
from promptaudit.udfs.readers.json_object import object_with
from promptaudit.udfs.readers.labels import LABEL_READERS
from promptaudit.udfs.readers.option_letter import OptionReading, read_options
from promptaudit.udfs.readers.refusals import BEGINNING, USUAL_REFUSAL
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.spelling import canonical
from promptaudit.udfs.sql_function import sql_function

MAX_READ_CHARACTERS = 1_000_000  # a label is never looked for beyond these


class Reading(NamedTuple):
    """The reading of a completion: its label, where it has one, and whether it is blank, a refusal, or read at all."""

    label: str | None
    is_blank: bool
    is_refusal: bool
    is_read: bool = False  # it gives a label, or any answer where the reader looks for none
    reason: str | None = None  # why no label or option could be read, or which error the user's own reader raised


_CUT_OFF = Reading(None, is_blank=False, is_refusal=False, reason="its reasoning never ends")
Answer = tuple[str, str, Sequence[str], str | None]
"""A completion, its reader as JSON, the labels and the refusal pattern."""
OwnReaders = Mapping[str, Callable[[str, list[str]], object]]
"""The user's own functions that may be called, by the JSON of their readers."""


def read_answers(answers: Sequence[Answer], own: OwnReaders | None = None) -> list[Reading]:
    """Reads many completions, and skips reasoning blocks that stand before an answer.

    Raises PermissionError for a reader of the user's own code that is not among `own`.
    """
    parts = [parted(completion) for completion, *_ in answers]
    answers = [(part.answer, *rest) for part, (_, *rest) in zip(parts, answers, strict=True)]  # type: ignore[misc]
    choices: dict[int, OptionReading] = {}
    for reader in {answer[1] for answer in answers}:
        name, signs = _parsed(reader)
        if name == "option_letter":
            same = [index for index, answer in enumerate(answers) if answer[1] == reader]
            options = read_options([answers[index][0].strip() for index in same], signs)
            choices.update(zip(same, options, strict=True))
    readings = [_reading(*answer, choices.get(index), own or {}) for index, answer in enumerate(answers)]
    return [
        _CUT_OFF if part.is_cut and reading.label is None else reading
        for part, reading in zip(parts, readings, strict=True)
    ]


@sql_function("read_answer", at_once=True)
def read_answers_of_build(
    completion: Sequence[str], reader: Sequence[str], labels: Sequence[list[str]], refusal_pattern: Sequence[str | None]
) -> list[Reading]:
    """Reads columns as `read_answers` does, and by the user's own code where this build may call it."""
    own: OwnReaders = {}
    if os.environ.get(TRUSTED_READERS):
        from promptaudit.udfs.readers.own_code import readers_of_build

        own = readers_of_build()
    return read_answers(list(zip(completion, reader, labels, refusal_pattern, strict=True)), own)


def read_answer(
    completion: str,
    reader: str,
    labels: Sequence[str],
    refusal_pattern: str | None = None,
    own: OwnReaders | None = None,
) -> Reading:
    """Reads one completion by a reader given as JSON. A label is always one of `labels`, as written there."""
    return read_answers([(completion, reader, labels, refusal_pattern)], own)[0]


def _reading(
    completion: str,
    reader: str,
    labels: Sequence[str],
    refusal_pattern: str | None,
    choice: OptionReading | None,
    own: OwnReaders,
) -> Reading:
    text = completion.strip()
    if not text:
        return Reading(None, is_blank=True, is_refusal=False)
    how = _parsed(reader)
    label, reason = None, None
    if choice is not None:
        label, reason = None if choice.index is None else labels[choice.index], choice.reason
    elif how[0] == "python":
        label, reason = _label_by(own, reader, text[:MAX_READ_CHARACTERS], labels)
    else:
        is_of_labels = how[0] not in ("open", "fields")
        if is_of_labels:
            label, reason = _label(text[:MAX_READ_CHARACTERS], how, tuple(labels))
    has_fields = how[0] == "fields" and object_with(text[:MAX_READ_CHARACTERS], how[1]) is not None
    is_refusal = label is None and not has_fields and _refuses(text, refusal_pattern, is_open=how[0] == "open")
    is_read = label is not None or has_fields or (how[0] == "open" and not is_refusal)
    return Reading(label, is_blank=False, is_refusal=is_refusal, is_read=is_read, reason=reason)


def _label_by(own: OwnReaders, reader: str, text: str, labels: Sequence[str]) -> tuple[str | None, str | None]:
    if reader not in own:
        msg = f"the reader {reader[:300]} is code that is not trusted here, so it is not called"
        raise PermissionError(msg)
    try:
        said = own[reader](text, list(labels))
        label = None if said is None else str(said).strip()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a parser that finds nothing often raises, and one may exit
        return None, f"its reader raised {type(error).__name__}"
    return (label, None) if label in labels else (None, None)


def _refuses(text: str, own: str | None, *, is_open: bool) -> bool:
    # no open answer refuses in the usual words; the task's own pattern replaces them
    if own:
        return bool(_compiled(own).search(text[:MAX_READ_CHARACTERS]))
    return not is_open and bool(_compiled(USUAL_REFUSAL).search(canonical(text[:BEGINNING])))


@functools.lru_cache(maxsize=64)
def _parsed(reader: str) -> tuple[str, Any]:
    card = json.loads(reader)
    return next(iter(card.items())) if isinstance(card, dict) else (card, "")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - re2 has no stubs
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _label(text: str, reader: tuple[str, str], labels: tuple[str, ...]) -> tuple[str | None, str | None]:
    name, argument = reader
    if name in LABEL_READERS:
        return LABEL_READERS[name](text, labels)
    if name == "regex":
        return held_by_pattern(text, _compiled(argument), labels), None
    if name == "json_field":
        return held_by_field(text, argument, labels), None
    msg = f"unknown reader {name!r}"
    raise ValueError(msg)
