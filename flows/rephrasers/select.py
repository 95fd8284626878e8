"""Picks the rephraser of a card."""

from __future__ import annotations

from flows.rephrasers import Rephraser
from flows.rephrasers.by_list import FixedRephraser
from flows.rephrasers.by_model import ModelRephraser, OpenEngineAt
from flows.rephrasers.by_rules import RulesRephraser
from models_registry.cards import RephraserCard


def open_rephraser(card: RephraserCard, open_engine_at: OpenEngineAt) -> Rephraser:
    """Returns the rephraser of a card; `open_engine_at` is called by kind `model` alone, when it is first asked."""
    if card.kind == "rules":
        return RulesRephraser(card)
    if card.kind == "fixed":
        return FixedRephraser(card)
    return ModelRephraser(card, open_engine_at)
