"""Finds a sample with different answers to two wordings, and says what was asked and answered."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptaudit.report.ask_copy import Copy
from promptaudit.report.queries import query
from promptaudit.system.display.figures import cut, paragraph
from promptaudit.system.display.policy import LEFT_OUT
from promptaudit.system.display.variant_names import kind_of, named
from promptaudit.warehouse import Row

INSTRUCTION = 200
COMPLETION = 160
INPUT = 240
MOST_LINES = 4
LABEL = 60
NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A prompt variant: its name in sentences and its instruction (None if texts are left out)."""

    prompt_variant_id: str
    name: str  # wording 3 at 0.5; variant 7 (option order); the original wording
    is_original: bool
    instruction: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleAnswer:
    """One wording's answer: the label (None: no label), whether it is right, and the completion (None if left out).

    `side` says which of two compared runs or models answered; for two nights it is `before` or `now`.
    """

    wording: Wording
    prediction_id: str
    label: str | None
    is_correct: bool | None
    completion: str | None
    side: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A sample with different answers to two wordings, or on two nights.

    `lines` is None if its text is left out or unknown.

    If `field` is a field of extraction, completions are its values.
    """

    model_id: str
    task_id: str
    strategy: str
    sample_id: str
    gold_label: str | None
    lines: tuple[str, ...] | None
    is_left_out: bool
    answers: tuple[ExampleAnswer, ExampleAnswer]
    field: str | None = None

    @property
    def is_of_nights(self) -> bool:
        """True if the two answers are from two nights, and not from two wordings of one night."""
        return bool(self.answers[0].side)


def example_of(
    copy: Copy, model_id: str, task_id: str, strategies: Sequence[str], field: str | None = None
) -> Example | None:
    """Finds a sample with different answers to two wordings, in the first strategy that has one; None without any.

    For extraction, the answers differ in `field` if it is given and such a sample exists, else in all fields.
    """
    for strategy, each in itertools.product(strategies, dict.fromkeys((field, None))):
        pair = pair_of(copy(query("example_answers"), model=model_id, task=task_id, strategy=strategy, field=each))
        if pair is not None:
            first, second = (answer_of(copy, row) for row in pair)
            return _example(copy, pair[0], model_id, strategy, (first, second))
    return None


def flips_of(copy: Copy, row: Row, sides: tuple[str, str], most: int = 1) -> list[Example]:
    """Finds at most so many samples to which the two sides of a comparison answer differently, the base first.

    `row` is from rpt_run_comparisons, `sides` are the names of the two. Both answers are to the same ask and come from
    the published copy, so that the page of a night and the page of its comparison agree.
    """
    base = {"base_run": row["base_run_id"], "base_model": row["base_model_id"], "base_strategy": row["base_strategy"]}
    own = {"model": row["model_id"], "task": row["task_id"], "strategy": row["strategy"], "verdict": row["verdict"]}
    found = copy(query("compared_answers"), **base, **own, run=row["candidate_run_id"], most_examples=most)
    examples = []
    for said in zip(found[::2], found[1::2], strict=True):
        first, second = (answer_of(copy, answer, side) for answer, side in zip(said, sides, strict=True))
        if first.wording == second.wording:  # the instruction is shown once
            second = replace(second, wording=replace(second.wording, instruction=None))
        examples.append(_example(copy, said[1], row["model_id"], row["strategy"], (first, second)))
    return examples


def _example(
    copy: Copy, row: Row, model_id: str, strategy: str, answers: tuple[ExampleAnswer, ExampleAnswer]
) -> Example:
    # `row` is of `example_answers.sql`
    is_left_out = copy.texts.of(row["task_id"]) == "none"
    field = row.get("field")
    lines = paragraph(row["input"] or "", INPUT)
    has_gold = row["gold_label"] is not None and not (is_left_out and field)  # a gold field stands in the text
    return Example(
        model_id=model_id,
        task_id=row["task_id"],
        strategy=strategy,
        sample_id=row["sample_id"],
        gold_label=cut(row["gold_label"] or NOTHING, LABEL) if has_gold else None,
        lines=None if is_left_out or row["input"] is None else tuple(filter(str.strip, lines))[:MOST_LINES],
        is_left_out=is_left_out,
        answers=answers,
        field=None if field is None else cut(field, LABEL),
    )


def pair_of(rows: Sequence[Row]) -> tuple[Row, Row] | None:
    """Picks the first answer, to the original if it was asked, and the commonest different one.

    A wrong answer beside a right one is preferred. Takes rows of `example_answers.sql`; None if no two variants have
    different answers.
    """
    if not rows:
        return None
    first = rows[0]
    others = [row for row in rows if _words(row) != _words(first) and _ruling(row) != _ruling(first)]
    if not others:
        return None
    times = Counter(row["label"] for row in others)

    def rank(row: Row) -> tuple[bool, bool, int]:
        return row["is_correct"] is first["is_correct"], row["label"] is None, -times[row["label"]]

    return first, min(others, key=rank)


def _words(row: Row) -> str:
    # each temperature has an original, and all are one wording; a variant that differs in another respect repeats
    # another one's instruction, so its id identifies it
    text = row["instruction"]
    has_own_words = text not in (None, LEFT_OUT) and kind_of(row) is None
    return "" if row["is_original"] else str(text if has_own_words else row["prompt_variant_id"])


def _ruling(row: Row) -> tuple[object, ...]:
    # without labels, answers differ in whether they are right
    return row["label"], row["is_correct"]


def answer_of(copy: Copy, row: Row, side: str = "") -> ExampleAnswer:
    """Reads one answer from a row of `example_answers.sql`."""
    is_left_out = copy.texts.of(row["task_id"]) == "none"
    return ExampleAnswer(
        wording=wording_of(copy, row),
        prediction_id=row["prediction_id"],
        label=None if row["label"] is None else cut(row["label"], LABEL),
        is_correct=row["is_correct"],
        completion=None if is_left_out else cut(row["completion"] or "", COMPLETION),
        side=side,
    )


def wording_of(copy: Copy, row: Row) -> Wording:
    """Reads a row's prompt variant as sentences name it."""
    text = row["instruction"]
    is_left_out = text in (None, LEFT_OUT) or copy.texts.of(row["task_id"]) == "none"
    # a variant that differs in another respect repeats the original's instruction
    instruction = None if is_left_out or kind_of(row) is not None else cut(" ".join(text.split()), INSTRUCTION)
    own = {"prompt_variant_id": row["prompt_variant_id"], "is_original": row["is_original"]}
    return Wording(**own, name=named(row), instruction=instruction)
