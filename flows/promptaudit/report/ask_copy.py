"""Asks the published copy about one run: long texts cut, and kept or left out as the report's policy has them."""

from __future__ import annotations

from collections.abc import Mapping

from promptaudit.registry.errors import WarehouseError
from promptaudit.report.queries import LIMITS, query
from promptaudit.system.display.figures import LONG
from promptaudit.system.display.policy import Texts
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of


def rows(warehouse: Warehouse, text: str, audit_run_id: str, /, **values: object) -> list[Row]:
    """Returns the rows of one query about one run, from the published copy.

    `values` are bound by name, beside `$run` and `$long` and in place of LIMITS.
    """
    with warehouse.published.connect() as con:
        return _rows(con, text, audit_run_id, LONG, values)


class Copy:
    """The published copy, open, and one run of it whose row is `run`; raises WarehouseError where it is not published."""

    def __init__(self, con: Connection, warehouse: Warehouse, audit_run_id: str, texts: Texts) -> None:
        self._con, self._run, self.texts = con, audit_run_id, texts
        runs = self(query("run"))
        if not runs:
            msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
            raise WarehouseError(msg)
        self.run = runs[0]
        texts.sensitive = self.sensitive_of(audit_run_id)

    def __call__(self, text: str, /, **values: object) -> list[Row]:
        """Returns the rows of a query, texts as the policy has them."""
        return self.texts.kept(_rows(self._con, text, self._run, self.texts.long, values))

    def sensitive_of(self, audit_run_id: str) -> frozenset[str]:
        """Returns the tasks that the cards of a run, this or another, mark sensitive."""
        cards = _rows(self._con, query("tasks"), audit_run_id, self.texts.long, {})
        return frozenset(row["task_id"] for row in cards if row["is_sensitive"])


def _rows(con: Connection, text: str, audit_run_id: str, long: int, values: Mapping[str, object]) -> list[Row]:
    """Returns the rows of a query; long texts with one character more than `long`."""
    return rows_of(con, text, **{**LIMITS, "run": audit_run_id, "long": long + 1, **values})
