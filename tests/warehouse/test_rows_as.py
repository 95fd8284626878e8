"""Rows of a query as typed rows."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import rows_as


class Planned(NamedTuple):
    task_id: str
    n: int


def test_rows_by_the_names_of_their_columns() -> None:
    assert rows_as(Planned, [{"n": 1, "task_id": "a"}]) == [Planned("a", 1)]


@pytest.mark.parametrize(("row", "column"), [({"n": 1}, "'task_id'"), ({"n": 1, "task_id": "a", "m": 2}, "'m'")])
def test_a_column_that_is_missing_or_too_many_is_named(row: dict[str, object], column: str) -> None:
    with pytest.raises(WarehouseError, match=f"columns are not the fields of Planned: .*{column}$"):
        rows_as(Planned, [row])
