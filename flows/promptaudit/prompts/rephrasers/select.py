"""Picks the rephraser of a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptaudit.prompts.rephrasers import Rephraser
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.own_code import Code

if TYPE_CHECKING:
    from promptaudit.prompts.rephrasers.by_model import OpenEngineAt


def open_rephraser(card: RephraserCard, code: Code | None, open_engine_at: OpenEngineAt) -> Rephraser:
    """Makes the rephraser of a card; `code` is the function or command that the card names.

    `open_engine_at` is called by kind `model` alone, when it is first asked.
    """
    if card.kind == "rules":
        from promptaudit.prompts.rephrasers.by_rules import RulesRephraser

        return RulesRephraser(card)
    if card.kind == "fixed":
        from promptaudit.prompts.rephrasers.by_list import FixedRephraser

        return FixedRephraser(card)
    if card.kind == "python" and code is not None:
        from promptaudit.prompts.rephrasers.by_python import PythonRephraser

        return PythonRephraser(card, code)
    if card.kind == "command" and code is not None:
        from promptaudit.prompts.rephrasers.by_command import CommandRephraser

        return CommandRephraser(card, code)
    from promptaudit.prompts.rephrasers.by_model import ModelRephraser

    return ModelRephraser(card, open_engine_at)
