"""Schema raw: its version, what leads to it from earlier ones, and the key of each table."""

from __future__ import annotations

from pathlib import Path

from flows.system.files import copy_durably
from flows.warehouse import Warehouse, now
from models_registry.errors import WarehouseError

SCHEMA_VERSION = 15
MIGRATIONS = {  # to version n: what `create table if not exists` does not do
    2: """
    alter table raw.prompt_variants add column answer_schema varchar;
    alter table raw.prompt_variants add column reader varchar;
    alter table raw.predictions add column sampling varchar;
    """,
    3: """
    alter table raw.tasks add column scoring_methods varchar;
    alter table raw.tasks add column token_f1_threshold double;
    alter table raw.tasks add column recorded_at timestamp;
    alter table raw.samples add column options varchar;
    alter table raw.samples add column reference_answers varchar;
    alter table raw.prompt_variants add column template varchar;
    alter table raw.predictions add column option_loglikelihoods varchar;
    drop table raw.verdicts; -- no version before this one wrote to it
    """,
    4: "",  # tables alone
    5: "alter table raw.audit_runs add column manifest varchar;",
    6: "alter table if exists raw.nights add column scheduled_at timestamp;",  # a version before the fourth has none yet
    7: "",  # a table alone
    8: "alter table raw.prompt_variants add column model_ids varchar[];",
    9: "",  # a column that nothing reads any more
    10: "",  # tables alone
    11: """
    alter table raw.prompt_variants add column variation varchar;
    alter table raw.prompt_variants add column setting varchar;
    """,
    12: "alter table raw.predictions add column option_order integer[];",
    13: "",  # a table alone
    14: """
    alter table raw.samples add column cluster varchar;
    alter table raw.samples add column is_critical boolean;
    """,
    # what nights remember from one to the next is a struct, to which dbt adds no field
    15: "alter table if exists marts.rpt_night_states add column if not exists memory.worse_since bigint;",
}
OF_DUCKDB = ("main", "system", "temp")
SCHEMA_SQL = Path(__file__).with_name("schema.sql")

_BY_RUN = ("audit_run_id",)
KEYS: dict[str, tuple[str, ...]] = {
    "audit_runs": _BY_RUN,
    "models": (*_BY_RUN, "model_id"),
    "tasks": (*_BY_RUN, "task_id", "recorded_at"),
    "task_labels": (*_BY_RUN, "task_id", "label"),
    "samples": (*_BY_RUN, "task_id", "sample_id"),
    "prompt_variants": (*_BY_RUN, "prompt_variant_id"),
    "option_orders": (*_BY_RUN, "prompt_variant_id", "sample_id"),
    "designs": _BY_RUN,
    "grid": (*_BY_RUN, "prompt_variant_id", "repetition"),
    "predictions": (*_BY_RUN, "prediction_id"),
    "attempts": (*_BY_RUN, "prediction_id", "attempted_at"),
    "rephrasings": (*_BY_RUN, "rephrasing_id"),
    "engines": (*_BY_RUN, "model_id", "opened_at"),
    "batches": (*_BY_RUN, "batch_id", "state"),
    "judges": (*_BY_RUN, "judge_id", "recorded_at"),
    "judge_controls": (*_BY_RUN, "control_id"),
    "verdicts": (*_BY_RUN, "verdict_id"),
    "format_checks": (*_BY_RUN, "expectation", "model_id", "task_id", "prompt_variant_id", "checked_at"),
    "format_validations": (*_BY_RUN, "validation_id"),
    "comparisons": (*_BY_RUN, "comparison_id"),
    "baselines": (*_BY_RUN, "audit_id", "name", "pinned_at"),
    "acceptances": (*_BY_RUN, "model_id", "task_id", "strategy", "accepted_at"),
    "waivers": (*_BY_RUN, "waiver_id"),
    "nights": (*_BY_RUN, "night_id", "step"),
    "alarms": (*_BY_RUN, "alarm_id", "event"),
    "notifications": (*_BY_RUN, "notification_id", "state", "recorded_at"),
    "retirements": (*_BY_RUN, "table_name", "retired_at"),
    "reports": (*_BY_RUN, "sha256", "name"),
    "erasures": (*_BY_RUN, "erasure_id", "task_id", "sample_id"),
    "seals": (*_BY_RUN, "seal_index"),
    "row_digests": (*_BY_RUN, "seal_index", "table_name"),
}


TABLES = "select table_schema || '.' || table_name as name from information_schema.tables where table_schema in ('marts', 'raw')"
"""Asks which tables and marts a file has: one of an earlier version lacks some."""


def apply_schema(warehouse: Warehouse) -> None:
    """Makes schema raw where it is missing, backs up and migrates an older one, refuses a newer one."""
    if warehouse.path.stem.lower() in OF_DUCKDB:
        msg = f"{warehouse}: DuckDB has catalogs of its own called {', '.join(OF_DUCKDB)}; choose another file name"
        raise WarehouseError(msg)
    with warehouse.kept_open():
        _apply(warehouse)


def _apply(warehouse: Warehouse) -> None:
    with warehouse.write() as con:
        is_known = con.execute(
            "select count(*) from information_schema.tables where table_schema = 'raw' and table_name = 'schema_versions'"
        ).fetchone()
        landed_version = None
        if is_known and is_known[0]:
            row = con.execute("select max(version) from raw.schema_versions").fetchone()
            landed_version = row[0] if row else None
        if landed_version is not None and landed_version > SCHEMA_VERSION:
            msg = f"{warehouse} has schema version {landed_version}, this promptaudit knows {SCHEMA_VERSION}; use a newer one"
            raise WarehouseError(msg)
        if landed_version == SCHEMA_VERSION:
            return
        if landed_version is not None:
            con.execute("checkpoint")
    if landed_version is not None:
        warehouse.let_go()
        copy_durably(warehouse.path, warehouse.path.with_name(f"{warehouse.path.name}.v{landed_version}.backup"))
    with warehouse.write() as con:
        con.execute("begin")
        for version in range((landed_version or SCHEMA_VERSION) + 1, SCHEMA_VERSION + 1):
            con.execute(MIGRATIONS[version])
        con.execute(SCHEMA_SQL.read_text(encoding="utf-8"))
        con.execute("insert into raw.schema_versions values (?, ?)", [SCHEMA_VERSION, now()])
        con.execute("commit")
