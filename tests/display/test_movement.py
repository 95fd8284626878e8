"""What moved in the words of a task, why, and how often chance does as much."""

from __future__ import annotations

from typing import Any

import pytest

from flows.display.movement import by_chance, in_labels, why

BILLING: dict[str, Any] = {
    "measure": "micro_f1", "moved_gold_label": "cancellation", "moved_label": "billing", "n_moved": 14, "n_moved_before": 1,
    "n_moved_samples": 20,
}  # fmt: skip


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
    assert in_labels(BILLING | change) == said


def test_a_comparison_has_no_words_of_its_labels() -> None:
    assert in_labels({"measure": "micro_f1"}) is None


def test_the_reason_stands_before_what_changed() -> None:
    assert (
        why({"reason": "tonight", "what_changed": "the provider changed the model"})
        == "tonight: the provider changed the model"
    )
    assert why({"reason": "tonight", "what_changed": None}) == why({"reason": "tonight"}) == "tonight"


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
