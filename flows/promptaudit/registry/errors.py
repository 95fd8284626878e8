"""Defines the error tree. Every error is one line and has the exit code that the command ends with.

PromptauditError                 1 line, exit_code
├── UsageError              2    a wrong option, argument or setting
├── CardError               2    a card that cannot be read or does not hold together
│   ├── UnknownCard         2    a name no card has, with the nearest one
│   ├── UntrustedCard       2    a card of others that would send a key to a host nobody trusts, or call code
│   └── ChangedCode         2    code that was trusted and is not as it was
├── DataError               2    samples, prompts or recorded predictions that cannot be used
├── WarehouseError          2    a warehouse that cannot be opened, read or written
│   ├── WarehouseLocked     2    another run holds it
│   └── BrokenFile          2    a file that processes share, or of a spool, and that does not hold what it should
├── SeveralErrors           *    several of these at once, one line each; the least exit code
├── MeasureError            3    the format gate failed or the run is incomplete
├── BudgetReached           4    the next request would cross the budget
└── EngineError             3    a model cannot be asked at all (wrong key, unknown model, no server)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class PromptauditError(Exception):
    """The base of every error a user can meet; `str(error)` is the one line shown."""

    exit_code = 2
    quotes: tuple[str, ...] = ()
    """What of the line is a text of others that leaves this machine with it nowhere: an answer of a model."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

    def __str__(self) -> str:
        """Returns the kind of error and its line."""
        return f"{type(self).__name__}: {super().__str__()}"

    @property
    def errors(self) -> tuple[PromptauditError, ...]:
        """Returns the errors that this one stands for: itself."""
        return (self,)

    @property
    def lines(self) -> tuple[str, ...]:
        """Returns what the command shows: one line an error."""
        return tuple(str(error) for error in self.errors)

    def at(self, where: str) -> PromptauditError:
        """Returns the same error with the place it comes from in front."""
        return type(self)(f"{where}: {super().__str__()}")


class UsageError(PromptauditError):
    """A wrong option, argument or setting."""


class CardError(PromptauditError):
    """A card that cannot be read or does not hold together."""


class UnknownCard(CardError):
    """A name no card has."""


class UntrustedCard(CardError):
    """A card of others that would send a key to a host nobody has trusted with it, or call code that nobody has trusted."""


class ChangedCode(CardError):
    """Code that was trusted and is not as it was."""


class DataError(PromptauditError):
    """Samples, prompts or recorded predictions that cannot be used."""


class WarehouseError(PromptauditError):
    """A warehouse that cannot be opened, read or written."""


class WarehouseLocked(WarehouseError):
    """Another run holds the warehouse."""


class BrokenFile(WarehouseError):
    """A file that processes share, or of a spool, and that does not hold what it should."""


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


class SeveralErrors(PromptauditError):
    """Several errors at once; `str(error)` is one line each."""

    def __init__(self, errors: Sequence[PromptauditError]) -> None:
        super().__init__(f"{len(errors)} errors")
        self._errors = tuple(errors)
        self.exit_code = min(error.exit_code for error in errors)

    def __str__(self) -> str:
        """Returns one line an error."""
        return "\n".join(self.lines)

    @property
    def errors(self) -> tuple[PromptauditError, ...]:
        """Returns the errors, in the order in which they were found."""
        return self._errors

    def at(self, where: str) -> PromptauditError:
        """Returns the same errors, each with the place it comes from in front."""
        return SeveralErrors([error.at(where) for error in self._errors])


def raise_all(errors: Iterable[PromptauditError]) -> None:
    """Raises one error as it is and several as SeveralErrors, equal lines once; does nothing where there are none."""
    different = {line: error for error in errors for line in (str(error),)}
    if len(different) == 1:
        raise next(iter(different.values()))
    if different:
        raise SeveralErrors(list(different.values()))


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; nearest: x` for the closest known name, else the first few known ones, else an empty text."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; nearest: {close[0]}"
    return f"; known: {', '.join(names[:8])}" if names else ""
