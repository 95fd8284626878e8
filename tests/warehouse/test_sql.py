"""Queries in files: each is read by its own room, and one can stand over others."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import flows
from flows.warehouse.sql import over, sql

QUERIES = sorted(Path(flows.__path__[0]).glob("*/queries/*.sql"))


@pytest.mark.parametrize("room", sorted({path.parents[1] for path in QUERIES}), ids=lambda room: room.name)
def test_a_room_reads_its_queries(room: Path) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in room.rglob("*.py"))
    unread = [path.stem for path in QUERIES if path.parents[1] == room and not re.search(rf"\b{path.stem}\b", code)]
    assert not unread


def test_what_a_room_reads_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in Path(flows.__path__[0]).rglob("*.py"))
    named = re.findall(r'\bsql\("(\w+)", "(\w+)"\)', code)
    assert len(named) > 40
    assert all(sql(*each) for each in named)


@pytest.mark.parametrize(
    "rest", ["select sum(n) from few", "with all_of_it as (from few) select sum(n) from all_of_it"]
)
def test_a_query_stands_over_others(rest: str) -> None:
    query = over(rest, many="select unnest([1, 2, 3, 4]) as n", few="with cut as (from many limit $most) from cut")
    with duckdb.connect() as con:
        assert con.execute(query, {"most": 3}).fetchall() == [(6,)]
        assert over("select 1") == "select 1"


def test_a_comment_before_a_query_stays_before_it() -> None:
    query = "-- of the run\nwith ours as (select 1 as x)\n\nselect x from ours, others"
    composed = over(query, others="select 2 as y")
    assert composed.startswith("-- of the run\nwith others as (")
    with duckdb.connect() as con:
        assert con.execute(composed).fetchall() == [(1,)]
