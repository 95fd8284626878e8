"""Declares beside a measure that SQL can call it; its name and SQL's types come from the function and its annotations.

A function takes the lists and figures of one group and is called once a group; where it is declared `at_once`, it takes
the groups of a chunk, laid end to end. `sql_types` defines the annotations of its parameters, and `arrow` converts
DuckDB's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Measure = TypeVar("Measure", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function that SQL can call.

    is_at_once: whether it is called once a chunk of groups.
    own_codes: for fields of its rows that are dense codes, the parameter whose own codes SQL gets instead.
    """

    name: str
    function: Callable[..., Any]
    is_at_once: bool
    own_codes: Mapping[str, str]

    @property
    def place(self) -> str:
        """Names the place where it is defined."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


FUNCTIONS: dict[str, SqlFunction] = {}
"""Every function that an imported module declares, by its name in SQL."""


def sql_function(
    name: str | None = None, *, at_once: bool = False, own_codes: Mapping[str, str] | None = None
) -> Callable[[Measure], Measure]:
    """Makes a decorator that declares a function for SQL, and leaves the function as it is.

    Args:
        name: its name in SQL; None takes the name in Python.
        at_once: whether it takes the groups of a chunk at once: a figure is then an array or a list, and so is the
            result.
        own_codes: for fields of its rows that are dense codes, the parameter whose own codes SQL gets instead.

    Raises:
        ValueError: two functions of one name.
    """

    def declare(function: Measure) -> Measure:
        own = name or function.__name__
        place = f"{function.__module__}.{function.__qualname__}"
        known = FUNCTIONS[own].place if own in FUNCTIONS else place
        if known != place:
            message = f"SQL would have two functions called {own}: {known} and {place}"
            raise ValueError(message)
        FUNCTIONS[own] = SqlFunction(own, function, at_once, own_codes or {})
        return function

    return declare
