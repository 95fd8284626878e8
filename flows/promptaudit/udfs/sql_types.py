"""Defines the annotations of parameters of functions that SQL calls, and the SQL types that follow from them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from enum import Enum, auto
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import SqlFunction


class Null(Enum):
    """The treatment of a NULL in a list."""

    LEAVES_OUT_ITS_ENTRY = auto()
    IS_A_CODE = auto()
    IS_MINUS_ONE = auto()
    IS_NAN = auto()


class Listed(NamedTuple):
    """A list in SQL, parallel to others of equal length; their entries belong to one group."""

    sql_type: str
    null: Null = Null.LEAVES_OUT_ITS_ENTRY
    is_coded: bool = False


class Place(Enum):
    """How a function that is called at once gets the places of its groups in the lists."""

    OFFSETS = auto()
    GROUP = auto()


class Keyed(NamedTuple):
    """A mapping from text, which is a list of rows in SQL; `key` is the column of its keys."""

    key: str


class Words(NamedTuple):
    """Texts of a group: the place of each entry's text among the sorted distinct ones; -1 where it has none."""

    code: NDArray[np.int32]
    distinct: list[str]


Codes = Annotated[NDArray[np.int64], Listed("INTEGER[]", is_coded=True)]
"""Dense codes of any integers; an entry with a NULL is left out."""
Labels = Annotated[NDArray[np.int64], Listed("INTEGER[]", Null.IS_A_CODE, is_coded=True)]
"""Dense codes of any integers; NULL is the class N/A, which has the last code."""
Integers = Annotated[NDArray[np.int64], Listed("INTEGER[]")]
"""Integers as they are; an entry with a NULL is left out."""
SmallIntegers = Annotated[NDArray[np.int32], Listed("INTEGER[]")]
"""Integers in four bytes, as SQL has them: nothing is copied, and products of such integers may overflow."""
SmallLabels = Annotated[NDArray[np.int32], Listed("INTEGER[]", Null.IS_A_CODE, is_coded=True)]
"""Labels in four bytes."""
IntegersOrMinusOne = Annotated[NDArray[np.int64], Listed("INTEGER[]", Null.IS_MINUS_ONE)]
Floats = Annotated[NDArray[np.float64], Listed("DOUBLE[]")]
FloatsOrNaN = Annotated[NDArray[np.float64], Listed("DOUBLE[]", Null.IS_NAN)]
Flags = Annotated[NDArray[np.bool_], Listed("BOOLEAN[]")]
Texts = Annotated[Words, Listed("VARCHAR[]", Null.IS_MINUS_ONE)]
Offsets = Annotated[NDArray[np.int64], Place.OFFSETS]
"""Where each group begins among the entries, and at last where the last group ends."""
Groups = Annotated[NDArray[np.int64], Place.GROUP]
"""The group of each entry."""
BigInt = Annotated[int, "BIGINT"]
"""An integer of a row that is not a count."""


def parameters(function: SqlFunction) -> dict[str, Any]:
    """Lists the annotation of each parameter that SQL gives a function, in order."""
    own = _hints(function.function)
    return {name: hint for name, hint in own.items() if name != "return" and not isinstance(marker(hint), Place)}


def places(function: SqlFunction) -> dict[str, Place]:
    """Finds the parameters of a function that locate the groups."""
    found = {name: marker(hint) for name, hint in _hints(function.function).items()}
    return {name: place for name, place in found.items() if isinstance(place, Place)}


def returns(function: SqlFunction) -> Any:  # noqa: ANN401 - an annotation
    """Gives the annotation of a function's result for one group."""
    hint = _hints(function.function)["return"]
    return element(hint) if function.is_at_once else hint


def sql_parameters(function: SqlFunction) -> list[str]:
    """Lists the SQL types of a function's parameters."""
    hints = parameters(function).values()
    columns = [hint for hint in hints if function.is_at_once and not isinstance(marker(hint), Listed)]
    return [sql_type(element(hint) if hint in columns else hint, whole="BIGINT") for hint in hints]


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function, include_extras=True)


_SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR",
    float: "DOUBLE",
    bool: "BOOLEAN",
    np.float64: "DOUBLE",
    np.int64: "BIGINT",
    np.bool_: "BOOLEAN",
}


def sql_type(hint: Any, whole: str = "INTEGER") -> str:  # noqa: ANN401 - an annotation
    """Gives the SQL type of an annotation; `whole` is the type of an int without a mark."""
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


@functools.cache
def fields(row: type) -> dict[str, Any]:
    """Lists the annotation of each field of a row type."""
    return get_type_hints(row, include_extras=True)


def is_row(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    """Tests whether an annotation is a row type: a NamedTuple or a dataclass."""
    return isinstance(hint, type) and (hasattr(hint, "_fields") or hasattr(hint, "__dataclass_fields__"))


def is_table(row: type) -> bool:
    """Tests whether a row type holds arrays, and so is a table with a column each."""
    return any(is_array(hint) for hint in fields(row).values())


def is_array(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    """Tests whether an annotation is a numpy array's."""
    return get_origin(plain(hint)) is np.ndarray


def plain(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Removes the mark from an annotation, and None as an alternative."""
    if get_origin(hint) is Annotated:
        return plain(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
        return plain(hint)
    if hasattr(alias := get_origin(hint), "__value__"):  # numpy's NDArray, from 2.5 on Python 3.12
        return plain(alias.__value__[get_args(hint)])
    return hint


def marker(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Finds the mark of an annotation; None without one."""
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    return hint.__metadata__[0] if get_origin(hint) is Annotated else None


def element(hint: Any) -> Any:  # noqa: ANN401 - an annotation
    """Gives the annotation of the elements of a list, a tuple or an array."""
    hint = plain(hint)
    if get_origin(hint) is np.ndarray:
        return get_args(get_args(hint)[1])[0]
    return get_args(hint)[0]
