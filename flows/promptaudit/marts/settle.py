"""Takes back figures that break a rule of the project, where they stand: whoever reads them finds NULL and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from promptaudit.udfs.attempts import Failure
from promptaudit.warehouse.duckdb_file import Connection

KEYS = ("audit_run_id", "comparison_id", "model_id", "task_id", "strategy")
GROUP = ("audit_run_id", "model_id", "task_id", "strategy")
ENDS = ("_low", "_high")


class BrokenRule(NamedTuple):
    """A rule about a figure, and which rows of its relation break it, as a condition of SQL."""

    rule: str
    relation: str
    column: str
    condition: str


Found = dict[str, str | None]
"""A `measure` that a group has not, the group as it was `told_as`, the `relation` where a figure was taken back, the `reason`."""


def of_failures(failures: Iterable[Failure]) -> list[Found]:
    """Returns measures that raised on a group."""
    return [
        {"measure": each.function, "relation": None, "told_as": each.told_as, "reason": each.reason}
        for each in failures
    ]


def settle(con: Connection, tests: Iterable[Any]) -> list[Found]:
    """Has the figures NULL that broke these tests of dbt, each as it compiled it, with the ends of their intervals."""
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
        return []  # its figures are those of the table that it reads, and taken back there
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
            "told_as": told,
            "reason": f"{n} of its figures break {broken.rule}",
        }
        for told, n in groups
    ]
