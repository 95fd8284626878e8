"""A warehouse of an earlier version is backed up and brought to this one, its rows kept."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from flows.warehouse import Warehouse
from flows.warehouse.rows import SCHEMAS
from flows.warehouse.schema import SCHEMA_VERSION
from tests.support.http_audit import query

ADDED: dict[int, dict[str, tuple[str, ...]]] = {  # by the version that brought them
    2: {"prompt_variants": ("answer_schema", "reader"), "predictions": ("sampling",)},
    3: {
        "tasks": ("scoring_methods", "token_f1_threshold", "recorded_at"),
        "samples": ("options", "reference_answers"),
        "prompt_variants": ("template",),
        "predictions": ("option_loglikelihoods",),
        "verdicts": ("ask", "control_id", "is_settled"),  # and more: the table is made anew
    },
    5: {"audit_runs": ("manifest",)},
    6: {"nights": ("scheduled_at",)},
    8: {"prompt_variants": ("model_ids",)},
    11: {"prompt_variants": ("variation", "setting")},
    12: {"predictions": ("option_order",)},
    14: {"samples": ("cluster", "is_critical")},
}
NEW = {
    2: ("rephrasings", "engines", "batches"),
    3: ("judges", "judge_controls"),
    4: ("comparisons", "baselines", "waivers", "nights", "alarms", "notifications", "retirements"),
    5: ("reports", "erasures", "seals", "row_digests"),
    6: (),
    7: ("format_validations",),
    8: (),
    9: (),
    10: ("designs", "grid"),
    11: ("option_orders",),
    12: (),
    13: ("acceptances",),
    14: (),
    15: (),
}


@pytest.mark.parametrize("version", [1, 4, 9, 13])
def test_an_older_version_is_migrated_with_its_rows_and_a_backup(tmp_path: Path, version: int) -> None:
    warehouse = tmp_path / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    with duckdb.connect(str(warehouse)) as con:
        for later in range(SCHEMA_VERSION, version, -1):
            for table, columns in ADDED.get(later, {}).items():
                for column in columns:
                    con.execute(f"alter table raw.{table} drop column {column}")
            for table in NEW[later]:
                con.execute(f"drop table raw.{table}")
        con.execute("update raw.schema_versions set version = ?", [version])
        con.execute("create schema if not exists marts")
        con.execute("create table marts.rpt_night_states as select {'since': 3::bigint, 'good': [4]} as memory")
        con.execute("insert into raw.attempts values ('r', 'p', timestamp '2026-01-01', 500, 'x', 0)")
    Warehouse(warehouse).apply_schema()
    assert query(warehouse, "select max(version) from raw.schema_versions") == [(SCHEMA_VERSION,)]
    assert query(warehouse, "select prediction_id from raw.attempts") == [("p",)]
    assert query(warehouse, "select memory.since, memory.worse_since from marts.rpt_night_states") == [(3, None)]
    for table, columns in SCHEMAS.items():
        found = {row[0] for row in query(warehouse, f"describe raw.{table}")}
        assert found == set(columns), table
    backup = warehouse.with_name(f"audit.duckdb.v{version}.backup")
    assert query(backup, "select max(version) from raw.schema_versions") == [(version,)]
    Warehouse(warehouse).apply_schema()
