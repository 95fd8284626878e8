"""The error tree. Every error is one line and carries the exit code the command ends with.

PromptauditError                 1 line, exit_code
├── UsageError              2    a wrong option, argument or setting
├── CardError               2    a card that cannot be read or does not hold together
│   ├── UnknownCard         2    a name no card has, with the nearest one
│   └── UntrustedCard       2    a card of others that would send a key to a host nobody has trusted with it
├── DataError               2    samples, prompts or recorded predictions that cannot be used
├── WarehouseError          2    a warehouse that cannot be opened, read or written
│   └── WarehouseLocked     2    another run holds it
├── MeasureError            3    the format gate failed or the run is incomplete
├── BudgetReached           4    the next request would cross the budget
└── EngineError             3    a model cannot be asked at all (wrong key, unknown model, no server)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class PromptauditError(Exception):
    """Base of every error a user can meet; `str(error)` is the one line shown."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

    def __str__(self) -> str:
        """The kind of error and its line."""
        return f"{type(self).__name__}: {super().__str__()}"


class UsageError(PromptauditError):
    """A wrong option, argument or setting."""


class CardError(PromptauditError):
    """A card that cannot be read or does not hold together."""


class UnknownCard(CardError):
    """A name no card has."""


class UntrustedCard(CardError):
    """A card of others that would send a key to a host nobody has trusted with it."""


class DataError(PromptauditError):
    """Samples, prompts or recorded predictions that cannot be used."""


class WarehouseError(PromptauditError):
    """A warehouse that cannot be opened, read or written."""


class WarehouseLocked(WarehouseError):
    """Another run holds the warehouse."""


class MeasureError(PromptauditError):
    """The format gate failed, or the run is incomplete."""

    exit_code = 3


class EngineError(PromptauditError):
    """A model that cannot be asked at all; `attempts` are the failed tries that led to it, for landing."""

    exit_code = 3

    def __init__(self, message: str, attempts: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.attempts = tuple(attempts)


class BudgetReached(PromptauditError):
    """The next request would cross the budget."""

    exit_code = 4


def nearest(name: str, known: Iterable[str]) -> str:
    """`; nearest: x` for the closest known name, else the first few known ones, else nothing."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; nearest: {close[0]}"
    return f"; known: {', '.join(names[:8])}" if names else ""
