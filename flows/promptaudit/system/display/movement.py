"""Describes what moved between two nights in the words of the task, why, and how often chance does as much."""

from __future__ import annotations

import math

from promptaudit.registry.gate_columns import OF_ANSWERS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.compared import Compared, Confusion
from promptaudit.system.display.figures import count, cut, in_unit, number

LABEL = 60
LEAST_FOR_RATIO = 0.5
"""Characters or tokens below which the earlier answers count as empty, and no ratio is given."""
_RATES = {"refusal_rate": "were refused", "token_limit_rate": "ended at the token limit"}
IN_BASE = "in the base"
MOST_SURE = 1e-6
"""Below this q the text only says that it is less than one in a million."""


def in_words(figure: Compared, then: str = "before") -> str | None:
    """Describes what moved with a figure in words of its task; None if there is nothing to say.

    `samples called billing that are cancellation: 14 of 20, 1 of 20 before`, `8 of 100 answers of intents were refused,
    0 of 100 before`.
    """
    if figure.measure in OF_ANSWERS:
        return _of_answers(figure)
    n, before = figure.n_moved, figure.n_moved_before
    if not n or (before is not None and n <= before) or figure.verdict in ("improved", "none_shown", "same"):
        return None
    of = f"of {count(figure.n_moved_samples)}"
    if before is None:
        return f"samples with another commonest answer than before: {count(n)} {of}"
    if figure.moved_gold_label is None:
        return f"samples with more wrong answers than right ones: {count(n)} {of}, {count(before)} {of} {then}"
    return confused_in_words(figure, then)


def place_of(of: Confusion) -> str:
    """Names the model, the task and the strategy of a confusion for people; long names are cut."""
    return " / ".join(cut(name, LABEL) for name in of.group)


def confused_in_words(confusion: Confusion, then: str) -> str:
    """Describes how many samples of a label are called another, and how many were `then`: before, in the base."""
    of = f"of {count(confusion.n_moved_samples)}"
    counts = f"{count(confusion.n_moved)} {of}, {count(confusion.n_moved_before)} {of} {then}"
    gold, label = (name and cut(name, LABEL) for name in (confusion.moved_gold_label, confusion.moved_label))
    if label is None:
        return f"samples that are {gold} and get no readable answer: {counts}"
    return f"samples called {label} that are {gold}: {counts}"


def _of_answers(figure: Compared) -> str | None:
    # how the answers themselves changed; only nights held against normal nights have these measures
    base, candidate = figure.base, figure.candidate
    if base is None or candidate is None or figure.verdict in ("not_comparable", "none_shown", "same"):
        return None
    answers = f"answers of {cut(figure.task_id, LABEL)}"
    if figure.measure in _RATES:
        return f"{_of_hundred(candidate)} {answers} {_RATES[figure.measure]}, {_of_hundred(base)} before"
    now, before = (in_unit(value, compared_unit(figure.measure)) for value in (candidate, base))
    before = before.partition(" ")[0]
    count_before = math.expm1(base)
    if count_before < LEAST_FOR_RATIO:
        return f"{answers} have {now}, {before} before"
    times = number(math.expm1(candidate) / count_before, 1)
    if figure.measure == "completion_tokens":
        return f"{answers} have {times} times as many tokens as on normal nights ({now}, {before} before)"
    return f"{answers} are {times} times as long as on normal nights ({now}, {before} before)"


def _of_hundred(rate: float) -> str:
    # rounding never makes it none or all
    text = number(100 * rate, 0)
    if text == "0" and rate > 0:
        return "fewer than 1 of 100"
    return "more than 99 of 100" if text == "100" and rate < 1 else f"{text} of 100"


def why(figure: Compared) -> str:
    """Joins the reason of a verdict and what changed, if the figure has them."""
    return ": ".join(part for part in (figure.reason, figure.what_changed) if part)


def by_chance(q: float) -> str:
    """Describes how often chance alone shows as much, from q or from a p-value: `by chance 1 time in 2,500`."""
    if q < MOST_SURE:
        return "by chance less than once in a million times"
    if q > 0.5:  # noqa: PLR2004 - more often than not
        return "as chance has it"
    return f"by chance 1 time in {count(int(float(f'{1 / q:.2g}')))}"
