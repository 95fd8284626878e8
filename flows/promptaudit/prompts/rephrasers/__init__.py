"""What rewords an instruction. A rephraser proposes; `paraphrase.py` numbers, refuses and lands.

A rephraser is asked for `n` rewordings at one paraphrase temperature (None: a card without temperatures) and may return
fewer, duplicates, or unusable ones: counting and refusing are not its business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Wording:
    """Describes what is to be reworded."""

    task_id: str
    instruction: str
    protected: tuple[str, ...]  # labels, placeholders ("{x}") and words of the card that must come through untouched
    is_given: bool = False  # the rewordings are a person's own words
    lines: tuple[str, ...] | None = None  # of a template: the lines that stay lines of their own
    language: str | None = None  # None: as the instruction has it


class Rephraser(Protocol):
    """Proposes rewordings of an instruction."""

    max_rounds: int  # how often the missing ones are asked for again

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Proposes up to `n` rewordings; `round_`, from 0, makes a deterministic rephraser propose new ones."""

    async def close(self) -> None:
        """Closes connections."""
