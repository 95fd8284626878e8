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
│   └── NightMissed         3    a scheduled night that cannot begin before the next one is due
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
    """Parts of the line that quote somebody else's text, such as a model's answer.

    They are removed where the line leaves this machine.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

    def __str__(self) -> str:
        """Writes the kind of error and its line."""
        return f"{type(self).__name__}: {super().__str__()}"

    @property
    def errors(self) -> tuple[PromptauditError, ...]:
        """Lists the errors that this one stands for: only itself."""
        return (self,)

    @property
    def lines(self) -> tuple[str, ...]:
        """Lists the lines that the command shows: one line an error."""
        return tuple(str(error) for error in self.errors)

    def at(self, where: str) -> PromptauditError:
        """Makes the same error with the place it comes from in front."""
        return type(self)(f"{where}: {super().__str__()}")


def lines_of(error: Exception) -> tuple[str, ...]:
    """Lists the lines of an error; of a defect only its kind, since its text may quote an answer."""
    return error.lines if isinstance(error, PromptauditError) else (f"{type(error).__name__}, a defect",)


class UsageError(PromptauditError):
    """A wrong option, argument or setting."""


class CardError(PromptauditError):
    """A card that cannot be read or does not hold together."""


class UnknownCard(CardError):
    """A name that no card has."""


class UntrustedCard(CardError):
    """A card from elsewhere that would send a key to a host, or call code, that the user has not trusted."""


class ChangedCode(CardError):
    """Code that was trusted and has changed since."""


class DataError(PromptauditError):
    """Samples, prompts or recorded predictions that cannot be used."""


class WarehouseError(PromptauditError):
    """A warehouse that cannot be opened, read or written."""


class WarehouseLocked(WarehouseError):
    """Another run holds the warehouse."""


class BrokenFile(WarehouseError):
    """A file that processes share, or a spool's file, without the contents that it should have."""


class MeasureError(PromptauditError):
    """The format gate failed, or the run is incomplete."""

    exit_code = 3


class NightMissed(MeasureError):
    """A scheduled night that cannot begin before the next one is due, which measures in its place."""


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
        """Writes one line an error."""
        return "\n".join(self.lines)

    @property
    def errors(self) -> tuple[PromptauditError, ...]:
        """Lists the errors in the order in which they were found."""
        return self._errors

    def at(self, where: str) -> PromptauditError:
        """Makes the same errors, each with the place it comes from in front."""
        return SeveralErrors([error.at(where) for error in self._errors])


def raise_all(errors: Iterable[PromptauditError]) -> None:
    """Raises one error as it is and several as SeveralErrors, equal lines once; does nothing without any."""
    different = {line: error for error in errors for line in (str(error),)}
    if len(different) == 1:
        raise next(iter(different.values()))
    if different:
        raise SeveralErrors(list(different.values()))


def refuse_unknown(option: str, value: str | None, known: Iterable[str], why: str = "") -> None:
    """Raises UsageError with the nearest name if an option has a value that is none of the known ones."""
    known = list(known)
    if value is not None and value not in known:
        msg = f"{option} {value[:80]}{': ' * bool(why)}{why}{nearest(value, known)}"
        raise UsageError(msg)


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggests the closest known name, `; nearest: x`, else the first eight known ones; empty if none is known."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; nearest: {close[0]}"
    return f"; known: {', '.join(names[:8])}" if names else ""
