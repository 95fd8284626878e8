"""Defines what foreign formats are read into: a program's answers, and the frame of recorded predictions they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.registry.cards import composed
from promptaudit.registry.errors import DataError
from promptaudit.registry.read_csv import MAX_COLUMNS
from promptaudit.registry.tables import ESCAPED, escape
from promptaudit.system.keys import as_json

PROGRAM_SCORE = "program_score"
MOST_TEXT = 1 << 28  # characters of all answers together, beyond `TIMES_TEXT` for each byte of a file
TIMES_TEXT = 100  # samples of 64 repeats, whose prompts stand in the file once, take 40
MAX_GIVEN = 1000  # answers to one ask
_OF_AN_ANSWER = 2000  # what an answer takes without its texts
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer as a program recorded it.

    `prompt` is what was sent, and `fields` are the parts of the sample that stand in it. `instruction` is the prompt's
    template, if the file has one. `variant` separates prompts whose texts do not. `dimensions` are the respects in
    which the file says that its prompts vary, each as JSON, and `demonstrations` are the examples that it showed.
    `variation` and `setting` say how the prompt differs from the original, according to the file. `sample_key` is the
    content of the sample, for files whose ids may clash. `settings` are the model's settings for this answer. `split`
    is the part of the data that the program reports separately. `uuid` identifies this very answer, and `ask` the
    request that a retry repeats. `is_failed` says that the program counts it as an error. `score` is the program's own.
    """

    place: str
    model: str
    sample_id: str
    completion: str | None
    task: str | None = None
    prompt: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    instruction: str | None = None
    variant: str | None = None
    strategy: str | None = None
    dimensions: Mapping[str, str] | None = None
    demonstrations: str | None = None
    variation: str | None = None
    setting: str | None = None
    sample_key: str | None = None
    settings: str | None = None
    split: str | None = None
    uuid: str | None = None
    ask: str | None = None
    is_failed: bool = False
    gold_label: str | None = None
    references: Sequence[str] = ()
    input: str | None = None
    choices: Sequence[str] = ()
    option_signs: Sequence[str] = ()
    option_order: Sequence[int] = ()  # for each place as shown the place in `choices`, where it is another
    labels: Sequence[str] = ()  # every class there is, where the file lists them
    loglikelihoods: Sequence[float] = ()
    score: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVariant:
    """The prompt variant of an answer: its number in its task, its text, and how it differs from variant 0.

    `variation` and `setting` are as `raw.prompt_variants` has them; both are None where nothing says how the variants
    differ.
    """

    index: int
    instruction: str
    variation: str | None = None
    setting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswers:
    """The answers of one file, the program that wrote them, and notes about what was left out."""

    program: str
    answers: Sequence[Answer]
    task: str
    notes: tuple[str, ...] = ()
    beside: tuple[Path, ...] = ()  # other files that were read with it


class Texts:
    """Counts the text of a file's answers. A text that stands once in a small file may be in each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.limit = MOST_TEXT + TIMES_TEXT * path.stat().st_size
        self._n = 0

    def take(self, answers: Iterable[Answer]) -> list[Answer]:
        """Collects the answers and counts each before the next is made.

        Raises DataError naming the answer that is too much.
        """
        taken = []
        for answer in answers:
            refuse_many_fields(answer.place, answer.fields)
            listed = (answer.choices, answer.references, answer.labels)
            texts = (answer.prompt, answer.input, answer.completion, answer.gold_label, answer.instruction)
            self._n += _OF_AN_ANSWER + sum(map(len, listed)) + sum(len(text) for text in texts if text)
            if self._n > self.limit:
                msg = (
                    f"{answer.place}: up to here the answers have more than {self.limit:,} characters of text, which a file of "
                    "its size may not; split it"
                )
                raise DataError(msg)
            taken.append(answer)
        return taken


def refuse_many_fields(place: str, fields: Sized) -> None:
    """Raises DataError for a sample of more fields than a table may have columns, as each is searched in the prompt."""
    if len(fields) > MAX_COLUMNS:
        msg = f"{place}: {len(fields)} fields of a sample, at most {MAX_COLUMNS} are read"
        raise DataError(msg)


def refuse_many_given(place: str, n_given: int) -> None:
    """Raises DataError for more answers to one ask than any program has asked for."""
    if n_given > MAX_GIVEN:
        msg = f"{place}: {n_given} answers to one ask, at most {MAX_GIVEN} are read"
        raise DataError(msg)


def letters_of(n: int) -> list[str]:
    """Lists the letters of n options, from A on."""
    return list(LETTERS[:n])


def letter_of(value: str | None, choices: Sequence[str], *, by_text: bool = False) -> str | None:
    """Finds the letter of an option that is named by its letter or its text. None where it is neither.

    A value that is the letter of one option and the text of another means the former, or with `by_text` the latter.
    """
    if value is None:
        return None
    letters, text = letters_of(len(choices)), composed(value.strip())
    same = [letter for letter, choice in zip(letters, choices, strict=False) if composed(choice.strip()) == text]
    is_letter = text.upper() in letters
    if is_letter and not (by_text and same):
        return text.upper()
    return same[0] if len(same) == 1 else None


def text_of(value: Any) -> str | None:  # noqa: ANN401 - whatever JSON holds
    """Turns a value of JSON into text: text stays as it is, None stays None, anything else becomes JSON."""
    return value if value is None or isinstance(value, str) else as_json(value)


def number_of(value: Any) -> float | None:  # noqa: ANN401
    """Reads a finite number, true as 1 and false as 0. Anything else gives None."""
    if isinstance(value, bool | int | float):
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return None
        return number if abs(number) < float("inf") else None
    return None


def whole_of(value: Any) -> int | None:  # noqa: ANN401
    """Reads a number from 0 that fits 32 bits as a whole one. Anything else gives None."""
    number = number_of(value)
    return int(number) if number is not None and 0 <= number < 2**31 else None


def frame_of_answers(answers: Sequence[Answer], variants: Sequence[PromptVariant]) -> pl.DataFrame:
    """Builds the frame of recorded predictions, all columns text. `variants` has the prompt variant of each answer."""
    known: dict[int, str | None] = {}  # answers of one sample share its lists

    def listed(texts: Sequence[str]) -> str | None:
        if id(texts) not in known:
            known[id(texts)] = as_json(list(texts)) if texts else None
        return known[id(texts)]

    rows = []
    for answer, variant in zip(answers, variants, strict=True):
        completion, is_escaped = (None, False) if answer.completion is None else escape(answer.completion)
        rows.append(
            {
                "model": answer.model,
                "task": answer.task,
                "sample_id": answer.sample_id,
                "completion": completion,
                "strategy": answer.strategy,
                "variant_index": str(variant.index),
                "instruction": variant.instruction,
                "variation": variant.variation,
                "setting": variant.setting,
                "gold_label": answer.gold_label,
                "input": answer.input,
                "references": listed(answer.references),
                "choices": listed(answer.choices),
                "option_signs": listed(answer.option_signs),
                "option_order": as_json(list(answer.option_order)) if answer.option_order else None,
                "labels": listed(answer.labels),
                "option_loglikelihoods": _weights(answer),
                "prompt_tokens": _shown(answer.prompt_tokens),
                "completion_tokens": _shown(answer.completion_tokens),
                "cost_usd": _shown(answer.cost_usd),
                "latency_ms": _shown(answer.latency_ms),
                "finish_reason": answer.finish_reason,
                PROGRAM_SCORE: _shown(answer.score),
                "place": answer.place,
                ESCAPED: is_escaped,
            }
        )
    columns = {name: _column(name, [row[name] for row in rows]) for name in rows[0]}
    return pl.DataFrame(columns)


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    # equal texts, such as the input of every prompt variant, lie in memory once
    place_of = {value: place for place, value in enumerate(dict.fromkeys(values))}
    distinct = pl.Series(name, [_safe(value) for value in place_of], dtype=pl.Boolean if name == ESCAPED else pl.String)
    return distinct.gather([place_of[value] for value in values])


def _weights(answer: Answer) -> str | None:
    if not answer.loglikelihoods:
        return None
    pairs = zip(answer.loglikelihoods, answer.choices, strict=True)
    return as_json([{"nats": nats, "n_characters": len(choice)} for nats, choice in pairs])


def _shown(value: float | None) -> str | None:
    return None if value is None else repr(value)


def _safe(value: Any) -> Any:  # noqa: ANN401
    return escape(value)[0] if isinstance(value, str) else value
