"""Rewords by the list of rewordings in the card."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.prompts.rephrasers import Wording
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import DataError, nearest


class FixedRephraser:
    """Gives the rewordings of `card.variants[task_id]` in the card's order, the same ones at every temperature."""

    def __init__(self, card: RephraserCard) -> None:
        self.max_rounds = card.max_rounds
        self._variants = dict(card.variants or {})
        self._given: dict[tuple[str, float | None], int] = {}

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Takes the next `n` of the list; fewer, then none, once it is used up. Round 0 starts at its head.

        Raises DataError for a task the card does not list.
        """
        if wording.task_id not in self._variants:
            msg = f"the fixed rephraser lists no variants of task '{wording.task_id}'"
            raise DataError(msg + nearest(wording.task_id, self._variants))
        key = (wording.task_id, temperature)
        start = self._given.get(key, 0) if round_ else 0
        taken = self._variants[wording.task_id][start : start + n]
        self._given[key] = start + len(taken)
        return taken

    async def close(self) -> None:
        """Does nothing: nothing is open."""
