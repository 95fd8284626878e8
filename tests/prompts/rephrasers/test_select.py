"""A card opens its rephraser; only kind `model` opens an engine, and only when asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from promptaudit.engines import Engine
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_list import FixedRephraser
from promptaudit.prompts.rephrasers.by_model import ModelRephraser
from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.prompts.rephrasers.select import open_rephraser
from promptaudit.registry.cards import RephraserCard


class Opened(Exception):
    """An engine was opened."""


def refuse(temperature: float | None) -> Engine:
    raise Opened(temperature)


@pytest.mark.parametrize(
    ("card", "kind"),
    [
        (RephraserCard(kind="rules", max_rounds=5), RulesRephraser),
        (RephraserCard(kind="fixed", variants={"t": ("Sort it.",)}, max_rounds=5), FixedRephraser),
        (RephraserCard(kind="model", model="m", max_rounds=5), ModelRephraser),
    ],
)
def test_each_kind(card: RephraserCard, kind: type) -> None:
    rephraser = open_rephraser(card, Path(), refuse)
    assert type(rephraser) is kind
    assert rephraser.max_rounds == 5
    wording = Wording("t", "Classify it.", ())
    if kind is ModelRephraser:
        with pytest.raises(Opened):
            asyncio.run(rephraser.rephrase(wording, 1, None, 0))
    else:
        assert len(asyncio.run(rephraser.rephrase(wording, 1, None, 0))) == 1
    asyncio.run(rephraser.close())
