"""Schema raw: its version, what leads to it from earlier ones, and the key of each table."""

from __future__ import annotations

from pathlib import Path

from flows.system.files import copy_durably
from flows.warehouse import Warehouse, now
from models_registry.errors import WarehouseError

SCHEMA_VERSION = 1
MIGRATIONS: dict[int, str] = {}
"""The SQL that leads to version n from the one before: what `create table if not exists` does not do."""
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
    "judge_wordings": (*_BY_RUN, "judge_id", "judge_key", "rephrasing_key", "wording_index"),
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


def apply_schema(warehouse: Warehouse) -> None:
    """Makes schema raw where it is missing, backs up and migrates one of an earlier version, refuses any other."""
    if warehouse.path.stem.lower() in OF_DUCKDB:
        msg = f"{warehouse}: DuckDB has catalogs of its own called {', '.join(OF_DUCKDB)}; choose another file name"
        raise WarehouseError(msg)
    with warehouse.kept_open():
        _apply(warehouse)


def unknown_version(version: int, place: object) -> WarehouseError:
    """Returns the error of a file of a schema that is neither this version's nor one that migrations lead from."""
    return WarehouseError(
        f"{place} has schema version {version}, this promptaudit knows {SCHEMA_VERSION}: use the one that made it"
    )


def _apply(warehouse: Warehouse) -> None:
    with warehouse.write() as con:
        is_known = con.execute(
            "select count(*) from information_schema.tables where table_schema = 'raw' and table_name = 'schema_versions'"
        ).fetchone()
        landed_version = None
        if is_known and is_known[0]:
            row = con.execute("select max(version) from raw.schema_versions").fetchone()
            landed_version = row[0] if row else None
        if landed_version == SCHEMA_VERSION:
            return
        if landed_version is not None:
            if (
                not set(range(landed_version + 1, SCHEMA_VERSION + 1)) <= MIGRATIONS.keys()
                or landed_version > SCHEMA_VERSION
            ):
                raise unknown_version(landed_version, warehouse)
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
