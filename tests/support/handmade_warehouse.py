"""Published warehouses for the gate's tests: runs and marts row by row, with the columns that dbt promises."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from promptaudit.audit.runs import run_row
from promptaudit.gate.source import WHOLE, Parts
from promptaudit.marts.describe import describe_marts
from promptaudit.marts.publish import publish
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse

MARTS = Path(__file__).parents[2] / "dbt/models/marts"
TABLES = (
    "dim_audit_runs",
    "dim_tasks",
    "rpt_audit",
    "fct_prompt_stability",
    "fct_scoring_sensitivity",
    "fct_ranking_consistency",
    "fct_judge_agreement",
    "rpt_run_comparisons",
)
NAMES = {"model_id": "m", "task_id": "t", "strategy": "simple"}


def run_id(name: str) -> str:
    """32 hex digits that begin with one."""
    return name * 32


@functools.cache
def contract(table: str) -> dict[str, str]:
    """The mart's columns and their types."""
    (path,) = MARTS.glob(f"**/{table}.yml")
    (model,) = (model for model in yaml.safe_load(path.read_text())["models"] if model["name"] == table)
    return {column["name"]: column["data_type"] for column in model["columns"]}


@functools.cache
def _empty(marts: tuple[str, ...]) -> bytes:
    """A warehouse with schema raw and these marts, made once."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "audit.duckdb"
        Warehouse(warehouse).apply_schema()
        with Warehouse(warehouse).write() as con:
            con.execute("create schema marts")
            for table in marts:
                columns = ", ".join(f"{name} {dtype}" for name, dtype in contract(table).items())
                con.execute(f"create table marts.{table} ({columns})")
            describe_marts(con)
        return warehouse.read_bytes()


class Gated:
    """A warehouse in the making; what it is given is written once it is published."""

    def __init__(self, folder: Path, marts: Sequence[str] = TABLES) -> None:
        self.warehouse = folder / "warehouse/audit.duckdb"
        self.warehouse.parent.mkdir()
        self.warehouse.write_bytes(_empty(tuple(marts)))
        self._pending: list[tuple[str, dict[str, Any]]] = []

    def run(
        self,
        name: str = "a",
        *,
        gate: Sequence[str] = (),
        hours: float = 1,
        state: str = "complete",
        audit: str = "nightly",
        origin: str = "run",
        plan: str = "p",
        **card: Any,
    ) -> str:
        """A run of so many hours ago, with its card as landed."""
        run = run_id(name)
        cards = {"audits": {audit: {"gate": list(gate), **card}}} if origin == "run" else {}
        (row,) = run_row(
            audit_run_id=run,
            audit_id=audit,
            origin=origin,
            fingerprint="f",
            plan_fingerprint=plan,
            card=json.dumps(cards),
            format_limits="{}",
            seed=1,
            n_resamples=0,
            manifest={},
        ).to_dicts()
        row |= {"state": state, "started_at": now() - timedelta(hours=hours)}
        row |= {"run_index": 10**9 - 100 * round(3600 * hours) + len(self._pending)}
        self._pending += [("raw.audit_runs", row), ("marts.dim_audit_runs", row)]
        return run

    def row(self, table: str, run: str, **columns: Any) -> None:
        """A row of a mart; model, task and strategy are m, t and simple."""
        names = {name: value for name, value in NAMES.items() if name in contract(table)}
        self._pending.append((f"marts.{table}", {"audit_run_id": run, **names, **columns}))

    def compared(  # what was asked for, and what came of it
        self,
        base: str,
        candidate: str,
        *rows: dict[str, Any],
        by: str = "c",
        parts: Parts = WHOLE,
        at: datetime | None = None,
    ) -> None:
        """A comparison of two runs, or of parts of them, with its rows."""
        known = {"comparison_id": by, "base_run_id": base, "candidate_run_id": candidate}
        request = {
            **known,
            "audit_run_id": candidate,
            **parts._asdict(),
            "min_effect": 0.02,
            "is_trial": False,
            "requested_at": at or now(),
        }
        self._pending.append(("raw.comparisons", request))
        for row in rows:
            columns = {**NAMES, "base_model_id": "m", "cause": "nothing_changed", **known, **row}
            self._pending.append(("marts.rpt_run_comparisons", columns))

    def written(self) -> Path:
        """The warehouse with all that it was given; readers have it as it was."""
        with Warehouse(self.warehouse).write() as con:
            for table, row in self._pending:
                marks = ", ".join("?" * len(row))
                con.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
        self._pending = []
        return self.warehouse

    def published(self) -> Path:
        """The warehouse, once readers have it."""
        if self._pending or not Warehouse(self.warehouse).published.path.exists():
            with Warehouse(self.warehouse).kept_open():
                self.written()
                publish(Warehouse(self.warehouse))
        return self.warehouse
