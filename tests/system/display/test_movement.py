"""What moved in the words of a task, why, and how often chance does as much."""

from __future__ import annotations

import math
from typing import Any

import pytest

from promptaudit.system.display.compared import Compared
from promptaudit.system.display.movement import by_chance, in_words, why
from tests.support.compared_figures import figure

BILLING: dict[str, Any] = {
    "measure": "micro_f1",
    "moved_gold_label": "cancellation",
    "moved_label": "billing",
    "n_moved": 14,
    "n_moved_before": 1,
    "n_moved_samples": 20,
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "samples called billing that are cancellation: 14 of 20, 1 of 20 before"),
        ({"moved_label": None}, "samples that are cancellation and get no readable answer: 14 of 20, 1 of 20 before"),
        (
            {"moved_gold_label": None, "moved_label": None},
            "samples with more wrong answers than right ones: 14 of 20, 1 of 20 before",
        ),
        (
            {"moved_gold_label": None, "moved_label": None, "n_moved_before": None},
            "samples with another commonest answer than before: 14 of 20",
        ),
        ({"moved_label": "a\x1b[2Jb"}, r"samples called a\x1b[2Jb that are cancellation: 14 of 20, 1 of 20 before"),
        ({"n_moved": 1}, None),
        ({"n_moved": None}, None),
    ],
)
def test_samples_are_called_by_their_labels(change: dict[str, Any], said: str | None) -> None:
    assert in_words(figure(Compared, **BILLING | change)) == said


@pytest.mark.parametrize(
    ("measure", "base", "candidate", "said"),
    [
        (
            "answer_length",
            math.log(27),
            math.log(42),
            "answers of intents are 1.6 times as long as on normal nights (41 characters, 26 before)",
        ),
        (
            "completion_tokens",
            math.log(11),
            math.log(6),
            "answers of intents have 0.5 times as many tokens as on normal nights (5 tokens, 10 before)",
        ),
        ("answer_length", 0.0, math.log(42), "answers of intents have 41 characters, 0 before"),
        ("refusal_rate", 0.0, 0.08, "8 of 100 answers of intents were refused, 0 of 100 before"),
        ("refusal_rate", 0.08, 0.002, "fewer than 1 of 100 answers of intents were refused, 8 of 100 before"),
        ("token_limit_rate", 0.0, 0.12, "12 of 100 answers of intents ended at the token limit, 0 of 100 before"),
        ("token_limit_rate", None, None, None),
    ],
)
def test_how_answers_are_otherwise(measure: str, base: float | None, candidate: float | None, said: str | None) -> None:
    row = {"measure": measure, "task_id": "intents", "base": base, "candidate": candidate, "verdict": "changed"}
    assert in_words(figure(Compared, **row)) == said
    assert in_words(figure(Compared, **row | {"verdict": "none_shown"})) is None


def test_a_comparison_has_no_words_of_its_labels() -> None:
    assert in_words(figure(Compared, measure="micro_f1")) is None


def test_the_reason_stands_before_what_changed() -> None:
    both = figure(Compared, reason="tonight", what_changed="the provider changed the model")
    assert why(both) == "tonight: the provider changed the model"
    assert why(figure(Compared, reason="tonight")) == "tonight"


@pytest.mark.parametrize(
    ("q", "said"),
    [
        (0.004, "by chance 1 time in 250"),
        (0.00052, "by chance 1 time in 1,900"),
        (0.04, "by chance 1 time in 25"),
        (1e-9, "by chance less than once in a million times"),
        (0.0, "by chance less than once in a million times"),
        (0.83, "as chance has it"),
    ],
)
def test_q_is_said_as_how_often(q: float, said: str) -> None:
    assert by_chance(q) == said
