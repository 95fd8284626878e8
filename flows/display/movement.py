"""Says of what moved between two nights what it is in the words of the task, why, and how often chance does as much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from promptaudit.flows.display.figures import count, cut, in_unit, number
from promptaudit.models_registry.gate_columns import OF_ANSWERS
from promptaudit.models_registry.mart_columns import compared_unit

LABEL = 60
LEAST_FOR_RATIO = 0.5
"""Characters below which answers were empty, and nothing is so many times as long."""
_RATES = {"refusal_rate": "were refused", "token_limit_rate": "ended at the token limit"}
IN_BASE = "in the base"
MOST_SURE = 1e-6
"""Below this q nothing is said but that it is less than one in a million."""


def in_words(row: Mapping[str, Any]) -> str | None:
    """Returns what moved, of a row of rpt_night_verdicts, in words of its task; None where it says nothing of it.

    `samples called billing that are cancellation: 14 of 20, 1 of 20 before`, `8 of 100 answers of intents were refused, 0 of
    100 before`.
    """
    if row["measure"] in OF_ANSWERS:
        return _of_answers(row)
    n, before = row.get("n_moved"), row.get("n_moved_before")
    if not n or (before is not None and n <= before) or row.get("verdict") in ("improved", "within_noise"):
        return None
    of = f"of {count(row['n_moved_samples'])}"
    if before is None:
        return f"samples with another commonest answer than before: {count(n)} {of}"
    if row["moved_gold_label"] is None:
        return f"samples with more wrong answers than right ones: {count(n)} {of}, {count(before)} {of} before"
    return confused_in_words(row, "before")


def place_of(row: Mapping[str, Any]) -> str:
    """Returns the model, the task and the strategy that a row is about, for people: names are cut."""
    return " / ".join(cut(row[name], LABEL) for name in ("model_id", "task_id", "strategy"))


def confused_in_words(row: Mapping[str, Any], then: str) -> str:
    """Returns how many more samples of a label are called another, and how many were `then`: before, in the base."""
    of = f"of {count(row['n_moved_samples'])}"
    counts = f"{count(row['n_moved'])} {of}, {count(row['n_moved_before'])} {of} {then}"
    gold, label = (row[name] and cut(row[name], LABEL) for name in ("moved_gold_label", "moved_label"))
    if label is None:
        return f"samples that are {gold} and get no readable answer: {counts}"
    return f"samples called {label} that are {gold}: {counts}"


def _of_answers(row: Mapping[str, Any]) -> str | None:
    """Returns how the answers themselves are otherwise, of the nights told against normal nights."""
    base, candidate = row["base"], row["candidate"]
    if base is None or candidate is None or row["verdict"] in ("not_comparable", "within_noise"):
        return None
    answers = f"answers of {cut(row['task_id'], LABEL)}"
    if row["measure"] in _RATES:
        return f"{_of_hundred(candidate)} {answers} {_RATES[row['measure']]}, {_of_hundred(base)} before"
    now, before = (in_unit(value, compared_unit(row["measure"])) for value in (candidate, base))
    before = before.partition(" ")[0]
    count_before = math.expm1(base)
    if count_before < LEAST_FOR_RATIO:
        return f"{answers} have {now}, {before} before"
    times = number(math.expm1(candidate) / count_before, 1)
    if row["measure"] == "completion_tokens":
        return f"{answers} have {times} times as many tokens as on normal nights ({now}, {before} before)"
    return f"{answers} are {times} times as long as on normal nights ({now}, {before} before)"


def _of_hundred(rate: float) -> str:
    """Returns a rate as so many of a hundred, neither none of them nor all by rounding."""
    text = number(100 * rate, 0)
    if text == "0" and rate > 0:
        return "fewer than 1 of 100"
    return "more than 99 of 100" if text == "100" and rate < 1 else f"{text} of 100"


def why(row: Mapping[str, Any]) -> str:
    """Returns the reason of a verdict and what changed, where the row tells them apart."""
    return ": ".join(part for part in (row["reason"], row.get("what_changed")) if part)


def by_chance(q: float) -> str:
    """Returns how often chance alone tells as much, from q or from a p-value: `by chance 1 time in 2,500`."""
    if q < MOST_SURE:
        return "by chance less than once in a million times"
    if q > 0.5:  # noqa: PLR2004 - more often than not
        return "as chance has it"
    return f"by chance 1 time in {count(int(float(f'{1 / q:.2g}')))}"
