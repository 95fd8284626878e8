"""Computes a mart of one run in memory from landed rows, with the project's own SQL and functions, without dbt.

A build of the project also checks, seals and keeps. The figures here are the same, for a caller that waits only for
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptaudit.registry.mart_columns import dbt_project
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import frame_of_rows

if TYPE_CHECKING:
    import polars as pl

MACROS = ("in_this_build", "has_labels", "measure_version", "group_keys")
"""The project's macros that a model may call here. Other macros belong to dbt's own ways of building."""


class Relation(str):
    """The name of a table as dbt passes it to a model, which may leave the database out."""

    __slots__ = ()

    def include(self, **_parts: bool) -> Relation:
        """Keeps the name, which has no database."""
        return self


def mart_of_landed(warehouse: Warehouse, mart: str, audit_run_id: str) -> pl.DataFrame:
    """Computes a run's rows of a mart, or of a model on the way to one, as a build of the run would.

    It only reads the warehouse and does not wait for a writer. Readers of the user's own run only if a person trusted
    them (`promptaudit.cards.trust.readers`): the caller has to check that.

    Raises WarehouseError if the warehouse cannot be read, jinja2.UndefinedError for a model that calls another macro.
    """
    from promptaudit.udfs.register import register

    with warehouse.inspect() as con:
        register(con)
        con.execute("set variable audit_run_ids = [$run::varchar]", {"run": audit_run_id})
        for name, query in queries_of(mart).items():
            con.execute(f'create temp table "{name}" as {query}')
        return frame_of_rows(con, f'from "{mart}"')


def queries_of(mart: str) -> dict[str, str]:
    """Renders the SQL of a model and of all models that it reads, each after the ones it reads itself."""
    import yaml
    from jinja2 import Environment, StrictUndefined

    project = dbt_project()
    models = {path.stem: path for path in (project / "models").rglob("*.sql")}
    macros = "".join((project / "macros" / f"{name}.sql").read_text(encoding="utf-8") for name in MACROS)
    settings: dict[str, Any] = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8"))
    # what is rendered is SQL of our own, and no page
    jinja = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        read: list[str] = []

        def ref(model: str) -> Relation:
            read.append(model)
            return Relation(f'"{model}"')

        query = jinja.from_string(macros + models[name].read_text(encoding="utf-8")).render(
            ref=ref,
            source=lambda schema, table: Relation(f'{schema}."{table}"'),
            config=lambda **_: "",
            var=settings["vars"].__getitem__,
        )
        for each in read:
            if each not in found:
                visit(each)
        found[name] = query

    visit(mart)
    return found
