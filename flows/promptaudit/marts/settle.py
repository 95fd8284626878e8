"""Sets figures that break a rule of the project to NULL, where they are stored, and reports why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from promptaudit.udfs.attempts import Failure
from promptaudit.warehouse.duckdb_file import Connection

KEYS = ("audit_run_id", "comparison_id", "model_id", "task_id", "strategy")
GROUP = ("audit_run_id", "model_id", "task_id", "strategy")
ENDS = ("_low", "_high")


class BrokenRule(NamedTuple):
    """A rule about a figure, and a condition in SQL for the rows of its relation that break it."""

    rule: str
    relation: str
    column: str
    condition: str


Found = dict[str, str | None]
"""A missing figure: the `measure`, its group (`group_keys`), the `relation` if it was set to NULL, and the `reason`."""


def of_failures(failures: Iterable[Failure]) -> list[Found]:
    """Lists the measures that raised an error on a group."""
    return [
        {"measure": each.function, "relation": None, "group_keys": each.group_keys, "reason": each.reason}
        for each in failures
    ]


def settle(con: Connection, tests: Iterable[Any]) -> list[Found]:
    """Sets the figures that broke these compiled tests of dbt to NULL, with the ends of their intervals."""
    return [each for test in tests for rule in _broken(con, test) for each in _take_back(con, rule)]


def _broken(con: Connection, test: Any) -> list[BrokenRule]:  # noqa: ANN401 - a node of dbt
    figure = test.config.meta.get("figure")
    if figure is None:
        rows = con.execute(f"select rule, relation, column_name, condition from ({test.compiled_code})").fetchall()  # noqa: S608 - our SQL
        return [BrokenRule(*row) for row in rows]
    keys = ", ".join(GROUP)
    condition = f"({keys}) in (select ({keys}) from ({test.compiled_code}))"  # noqa: S608 - our SQL
    return [BrokenRule(test.name, test.config.meta["relation"], figure, condition)]


def _take_back(con: Connection, broken: BrokenRule) -> list[Found]:
    is_view = "select 1 from duckdb_views() where schema_name || '.' || view_name = $name"
    if con.execute(is_view, {"name": ".".join(broken.relation.replace('"', "").split(".")[-2:])}).fetchall():
        return []  # it shows the figures of the table that it reads, where they are set to NULL
    there = {name for name, *_ in con.execute(f"describe {broken.relation}").fetchall()}
    keys = ", ".join(f"'{key}': {key}" for key in KEYS if key in there)
    groups = con.execute(
        f"select to_json({{{keys}}})::varchar, count(*) from {broken.relation} where {broken.condition} group by all order by all"  # noqa: S608
    ).fetchall()
    stem = next((broken.column.removesuffix(end) for end in ENDS if broken.column.endswith(end)), broken.column)
    gone = sorted({broken.column, *(f"{stem}{end}" for end in ENDS)} & there)
    con.execute(
        f"update {broken.relation} set {', '.join(f'{name} = null' for name in gone)} where {broken.condition}"  # noqa: S608
    )
    return [
        {
            "measure": broken.column,
            "relation": broken.relation,
            "group_keys": keys_of_group,
            "reason": f"{n} of its figures break {broken.rule}",
        }
        for keys_of_group, n in groups
    ]
