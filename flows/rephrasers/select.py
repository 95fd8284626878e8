"""Picks the rephraser of a card."""

from __future__ import annotations

from pathlib import Path

from flows.rephrasers import Rephraser
from flows.rephrasers.by_list import FixedRephraser
from flows.rephrasers.by_model import ModelRephraser, OpenEngineAt
from flows.rephrasers.by_rules import RulesRephraser
from models_registry.cards import RephraserCard


def open_rephraser(card: RephraserCard, root: Path, open_engine_at: OpenEngineAt) -> Rephraser:
    """Returns the rephraser of a card of the registry at `root`.

    `open_engine_at` is called by kind `model` alone, when it is first asked.
    """
    if card.kind == "rules":
        return RulesRephraser(card)
    if card.kind == "fixed":
        return FixedRephraser(card)
    if card.kind == "python":
        from flows.rephrasers.by_python import PythonRephraser

        return PythonRephraser(card, root)
    if card.kind == "command":
        from flows.rephrasers.by_command import CommandRephraser

        return CommandRephraser(card, root)
    return ModelRephraser(card, open_engine_at)
