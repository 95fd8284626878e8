"""The fixed list: in order, to its end, and a task it does not know is one line."""

from __future__ import annotations

import asyncio

import pytest

from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_list import FixedRephraser
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import DataError

CARD = RephraserCard(kind="fixed", variants={"sentiment": ("one", "two", "three", "four"), "topic": ("five",)})


def rephrase(
    rephraser: FixedRephraser, task: str, n: int, temperature: float | None = None, round_: int = 0
) -> list[str]:
    return list(asyncio.run(rephraser.rephrase(Wording(task, "Classify.", ()), n, temperature, round_)))


def test_rewordings_come_in_order_and_end() -> None:
    rephraser = FixedRephraser(CARD)
    assert rephrase(rephraser, "sentiment", 2) == ["one", "two"]
    assert rephrase(rephraser, "sentiment", 1, round_=1) == ["three"]
    assert rephrase(rephraser, "sentiment", 9, round_=2) == ["four"]
    assert rephrase(rephraser, "sentiment", 9, round_=3) == []
    assert rephrase(rephraser, "sentiment", 2) == ["one", "two"]


def test_every_temperature_and_task_has_the_list_from_its_head() -> None:
    rephraser = FixedRephraser(CARD)
    assert rephrase(rephraser, "sentiment", 3, 0.1) == ["one", "two", "three"]
    assert rephrase(rephraser, "sentiment", 3, 2.0) == ["one", "two", "three"]
    assert rephrase(rephraser, "topic", 3) == ["five"]
    assert rephraser.max_rounds == 3


def test_an_unknown_task_is_one_line_with_the_nearest() -> None:
    with pytest.raises(DataError) as raised:
        rephrase(FixedRephraser(CARD), "sentiments", 3)
    assert str(raised.value) == (
        "DataError: the fixed rephraser lists no variants of task 'sentiments'; nearest: sentiment"
    )
