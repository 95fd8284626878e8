"""Makes a published copy of a run of many models and tasks: the rows of one group of an imported run, again and again."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from promptaudit.warehouse import Warehouse

NAMES = {"model_id": "'model-' || models.n", "task_id": "'task-' || tasks.n"}


def many_groups(
    source: Path, run: str, group: tuple[str, str, str], folder: Path, n_models: int, n_tasks: int
) -> Warehouse:
    """The published copy of `source` with `run` in it alone, whose one group (model, task, strategy) stands for all others."""
    warehouse = Warehouse(folder / "audit.duckdb")
    place = warehouse.published.path
    place.parent.mkdir(parents=True)
    shutil.copy(Warehouse(source).published.path, place)
    with duckdb.connect(str(place)) as con:
        con.execute(f"create temp table models as select range as n from range({n_models})")
        con.execute(f"create temp table tasks as select range as n from range({n_tasks})")
        tables = con.execute(
            "select table_name, list(column_name) from information_schema.columns join information_schema.tables "
            "using (table_schema, table_name) where table_schema = 'marts' and table_type = 'BASE TABLE' group by all "
            "order by all"
        ).fetchall()
        for table, columns in tables:
            _multiply(con, table, set(columns), run, group)
    return warehouse


def _multiply(
    con: duckdb.DuckDBPyConnection, table: str, columns: set[str], run: str, group: tuple[str, str, str]
) -> None:
    known = dict(zip(("model_id", "task_id", "strategy"), group, strict=True))
    own = {name: value for name, value in known.items() if name in columns}
    if "audit_run_id" not in columns or not {"model_id", "task_id"} & set(own):
        return
    where = " and ".join(["audit_run_id = $run", *(f"{name} = ${name}" for name in own)])
    con.execute(f"create temp table kept as select * from marts.{table} where {where}", {"run": run, **own})
    con.execute(f"delete from marts.{table}")
    renamed = {name: NAMES[name] for name in own if name in NAMES}
    if "task_id" in own:  # what is asked of one task is of no other
        renamed |= {
            name: f"{name} || '-' || {NAMES['task_id']}"
            for name in ("prompt_variant_id", "prediction_id")
            if name in columns
        }
    if "prediction_id" in renamed and "model_id" in own:
        renamed["prediction_id"] += f" || '-' || {NAMES['model_id']}"
    if "sensitivity_corrected" in columns and table == "rpt_audit":  # not all alike
        renamed["sensitivity_corrected"] = "sensitivity_corrected * (1 + tasks.n) / 30"
    sources = ["kept", *(name.removesuffix("_id") + "s" for name in own if name in NAMES)]
    replaced = ", ".join(f"{text} as {name}" for name, text in renamed.items())
    con.execute(f"insert into marts.{table} by name select kept.* replace ({replaced}) from {', '.join(sources)}")
    con.execute("drop table kept")
