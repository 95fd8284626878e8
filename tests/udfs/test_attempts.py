"""The `try_` functions: a group on which a measure raises has no figure, and the others keep theirs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from promptaudit.udfs import arrow, attempts, register
from promptaudit.udfs.sql_function import SqlFunction
from promptaudit.udfs.sql_types import parameters, returns, sql_parameters, sql_type

FUNCTIONS = register.functions()


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        register.register(connection)
        attempts.take()
        yield connection


def raising(error: BaseException) -> Callable[[SqlFunction], SqlFunction]:
    def of(function: SqlFunction) -> SqlFunction:
        @functools.wraps(function.function)
        def fails(*_: Any, **__: Any) -> None:
            raise error

        return replace(function, function=fails)

    return of


def failing_on(monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """Has every function raise on the group of this name."""
    call, fails = arrow.call, raising(ValueError("all samples\nare alike"))

    def attempt(function: SqlFunction, group_keys: pa.Array, *columns: pa.Array) -> pa.Array:
        def of_groups(own: SqlFunction, *parts: pa.Array) -> pa.Array:
            whole = len(parts[0]) == len(group_keys) and failing in group_keys.to_pylist()
            return call(fails(own) if whole or next(names) == failing else own, *parts)

        names = iter(group_keys.to_pylist())
        monkeypatch.setattr(arrow, "call", of_groups)
        return real(function, group_keys, *columns)

    real = arrow.attempt
    monkeypatch.setattr(arrow, "attempt", attempt)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_fails_on_one_group_of_three_and_leaves_the_others_theirs(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of NULLs alone, which most functions take; one that does not raises on all three, and no query ends."""
    nulls = ", ".join(f"null::{kind}" for kind in sql_parameters(FUNCTIONS[name]))
    query = f"select told, try_{name}(told, {nulls}) from (values ('a'), ('b'), ('c')) of_groups(told) order by told"
    before = con.execute(query).fetchall()
    known = {each.group_keys for each in attempts.take()}
    failing_on(monkeypatch, "b")
    after = con.execute(query).fetchall()
    nothing = [] if sql_type(returns(FUNCTIONS[name])).endswith("[]") else None
    assert after == [(failing, nothing if failing == "b" else figure) for failing, figure in before]
    noted = attempts.take()
    assert {each.group_keys for each in noted} == known | {"b"}
    assert {each.function for each in noted} == {name}
    assert next(each.reason for each in noted if each.group_keys == "b") == "ValueError: all samples are alike"


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("normalised_entropy({0}, [x], 3)", "at once"),
        ("wording_quantiles({0}, [x], [x], [1])", "struct"),
        ("wording_accuracies({0}, [x], [x], [1])", "list"),
        ("token_f1({0}, x::varchar, ['a'])", "scalar"),
    ],
)
def test_the_others_of_a_chunk_are_as_without_a_failure(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, call: str, types: str
) -> None:
    plain = call.format("x").replace("(x, ", "(", 1)
    query = "select x, {} as figure from (select x::integer as x from range(5000) numbers(x)) order by x"
    before = con.sql(query.format(plain)).fetchall()
    failing_on(monkeypatch, "4321")
    after = con.sql(query.format("try_" + call.format("x::varchar")))
    assert after.types == con.sql(query.format(plain)).types
    assert [row for row in after.fetchall() if row[0] != 4321] == [row for row in before if row[0] != 4321], types
    assert [each.group_keys for each in attempts.take()] == ["4321"]


def test_the_first_reason_of_a_group_is_kept_and_told_once(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("select try_two_way_interval('g', [1, 2], [x::integer], [.5], [1]) from range(3) numbers(x)")
    (failure,) = attempts.take()
    assert failure.group_keys == "g"
    assert failure.reason.startswith("ValueError: two_way_interval: lists of one row must be of equal length")
    assert attempts.take() == []


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt(), SystemExit()])
def test_what_is_no_fault_of_a_group_passes_through(error: BaseException) -> None:
    function = raising(error)(FUNCTIONS["wording_quantiles"])
    columns = [pa.array([None], pa.list_(pa.int32())), *[pa.array([None], pa.list_(pa.float64()))] * 2]
    assert len(parameters(function)) == len(columns)
    with pytest.raises(type(error)):
        arrow.attempt(function, pa.array(["g"]), *columns)


def test_a_function_and_its_try_have_the_same_parameters() -> None:
    function = FUNCTIONS["posix"]
    names = list(inspect.signature(arrow.of_columns(function, is_tried=True)).parameters)
    assert names == ["group_keys", *inspect.signature(arrow.of_columns(function)).parameters]
