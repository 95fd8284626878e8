"""Declares beside a measure that SQL can call it: its name, and SQL's types, are those of the function and its annotations.

A function takes the lists and figures of one group and is called once a group; where it is declared `at_once`, those of a chunk
of groups, laid end to end. `udfs.arrow` gives DuckDB's columns this form.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Measure = TypeVar("Measure", bound=Callable[..., Any])


class Null(Enum):
    """What becomes of a NULL in a list."""

    LEAVES_OUT_ITS_ENTRY = auto()
    IS_A_CODE = auto()
    IS_MINUS_ONE = auto()
    IS_NAN = auto()


class Listed(NamedTuple):
    """A list of SQL that stands beside others of equal length; their entries are the group's."""

    sql_type: str
    null: Null = Null.LEAVES_OUT_ITS_ENTRY
    is_coded: bool = False


class Place(Enum):
    """What a function that is called at once is told of the lists of its groups."""

    OFFSETS = auto()
    GROUP = auto()


class Keyed(NamedTuple):
    """A mapping from text, which is a list of rows in SQL; `key` is the column of its keys."""

    key: str


class Words(NamedTuple):
    """Texts of a group: the place of each entry's among the distinct ones, which are sorted; -1 where it has none."""

    code: NDArray[np.int64]
    distinct: list[str]


Codes = Annotated[NDArray[np.int64], Listed("BIGINT[]", is_coded=True)]
"""Dense codes of any integers; an entry with a NULL is left out."""
Labels = Annotated[NDArray[np.int64], Listed("BIGINT[]", Null.IS_A_CODE, is_coded=True)]
"""Dense codes of any integers; NULL is the class N/A, which has the last of them."""
Integers = Annotated[NDArray[np.int64], Listed("BIGINT[]")]
IntegersOrMinusOne = Annotated[NDArray[np.int64], Listed("BIGINT[]", Null.IS_MINUS_ONE)]
Floats = Annotated[NDArray[np.float64], Listed("DOUBLE[]")]
FloatsOrNaN = Annotated[NDArray[np.float64], Listed("DOUBLE[]", Null.IS_NAN)]
Flags = Annotated[NDArray[np.bool_], Listed("BOOLEAN[]")]
Texts = Annotated[Words, Listed("VARCHAR[]", Null.IS_MINUS_ONE)]
Offsets = Annotated[NDArray[np.int64], Place.OFFSETS]
"""Where each group begins among the entries, and where the last ends."""
Groups = Annotated[NDArray[np.int64], Place.GROUP]
"""The group of each entry."""
BigInt = Annotated[int, "BIGINT"]
"""An integer of a row that is no count."""


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function that SQL can call.

    is_at_once: whether it is called once a chunk of groups.
    own_codes: of fields of its rows that are dense codes, the parameter whose own codes SQL gets in their place.
    """

    name: str
    function: Callable[..., Any]
    is_at_once: bool
    own_codes: Mapping[str, str]

    @property
    def place(self) -> str:
        """Returns where it is defined."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def parameters(self) -> dict[str, Any]:
        """Returns the annotation of each parameter that SQL gives, in order."""
        return {
            name: hint for name, hint in self._hints.items() if name != "return" and not isinstance(marker(hint), Place)
        }

    @property
    def places(self) -> dict[str, Place]:
        """Returns the parameters that say where the groups lie."""
        found = {name: marker(hint) for name, hint in self._hints.items()}
        return {name: place for name, place in found.items() if isinstance(place, Place)}

    @property
    def returns(self) -> Any:  # noqa: ANN401 - an annotation
        """Returns the annotation of what one group has."""
        hint = self._hints["return"]
        return element(hint) if self.is_at_once else hint

    @property
    def sql_parameters(self) -> list[str]:
        """Returns the SQL types of the parameters."""
        is_listed = {name: isinstance(marker(hint), Listed) for name, hint in self.parameters.items()}
        return [
            sql_type(element(hint) if self.is_at_once and not is_listed[name] else hint, whole="BIGINT")
            for name, hint in self.parameters.items()
        ]

    @property
    def sql_returns(self) -> str:
        """Returns the SQL type of what one group has."""
        return sql_type(self.returns)

    @property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)


FUNCTIONS: dict[str, SqlFunction] = {}
"""Every function that an imported module declares, by its name in SQL."""


def sql_function(
    name: str | None = None, *, at_once: bool = False, own_codes: Mapping[str, str] | None = None
) -> Callable[[Measure], Measure]:
    """Returns a decorator that declares a function for SQL, and leaves it as it is.

    Args:
        name: what SQL calls it; None: as Python does.
        at_once: whether it takes the groups of a chunk at once: a figure is an array or a list then, and so is what it returns.
        own_codes: of fields of its rows that are dense codes, the parameter whose own codes SQL gets in their place.

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


_SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR", float: "DOUBLE", bool: "BOOLEAN", np.float64: "DOUBLE", np.int64: "BIGINT", np.bool_: "BOOLEAN",
}  # fmt: skip


def sql_type(hint: Any, whole: str = "INTEGER") -> str:  # noqa: ANN401 - an annotation
    """Returns the SQL type of an annotation; `whole` is that of an int that does not say."""
    hint, mark = plain(hint), marker(hint)
    if isinstance(mark, Listed | str):
        return mark if isinstance(mark, str) else mark.sql_type
    if isinstance(mark, Keyed):
        _, row = get_args(hint)
        return f"STRUCT({mark.key} VARCHAR, {_fields(row)})[]"
    if is_row(hint):
        return f"STRUCT({_fields(hint)}){'[]' * is_table(hint)}"
    known = {**_SQL_TYPES, int: whole, Literal: "VARCHAR"}
    own = get_origin(hint) if get_origin(hint) is Literal else hint
    return known[own] if own in known else f"{sql_type(element(hint), whole)}[]"


def _fields(row: type) -> str:
    types = {name: element(hint) if is_array(hint) else hint for name, hint in fields(row).items()}
    return ", ".join(f"{name} {sql_type(hint)}" for name, hint in types.items())


def fields(row: type) -> dict[str, Any]:
    """Returns the annotation of each field of a row type."""
    return get_type_hints(row, include_extras=True)


def is_row(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    """Returns whether an annotation is a row type: a NamedTuple or a dataclass."""
    return isinstance(hint, type) and (hasattr(hint, "_fields") or hasattr(hint, "__dataclass_fields__"))


def is_table(row: type) -> bool:
    """Returns whether a row type holds arrays, and so is a table with a column each."""
    return any(is_array(hint) for hint in fields(row).values())


def is_array(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    """Returns whether an annotation is one of a numpy array."""
    return get_origin(plain(hint)) is np.ndarray


def plain(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Returns an annotation without its mark, and without None as an alternative."""
    if get_origin(hint) is Annotated:
        return plain(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
        return plain(hint)
    return hint


def marker(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Returns the mark of an annotation; None without one."""
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    return hint.__metadata__[0] if get_origin(hint) is Annotated else None


def element(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Returns the annotation of what a list, a tuple or an array is of."""
    hint = plain(hint)
    if get_origin(hint) is np.ndarray:
        return get_args(get_args(hint)[1])[0]
    return get_args(hint)[0]
