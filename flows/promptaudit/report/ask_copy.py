"""Asks the published copy about one run. Long texts are cut, and kept or left out by the report's policy."""

from __future__ import annotations

from collections.abc import Mapping

from promptaudit.registry.errors import WarehouseError
from promptaudit.report.queries import LIMITS, query
from promptaudit.system.display.figures import LONG
from promptaudit.system.display.policy import Texts
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of


def rows(warehouse: Warehouse, text: str, audit_run_id: str, /, **values: object) -> list[Row]:
    """Runs one query about one run on the published copy.

    `values` are bound by name, beside `$run` and `$long`, and replace LIMITS of the same name.
    """
    with warehouse.published.connect() as con:
        return _rows(con, text, audit_run_id, LONG, values)


class Copy:
    """The open published copy and one run of it, whose row is `run`.

    Raises WarehouseError if the run is not published.
    """

    def __init__(self, con: Connection, warehouse: Warehouse, audit_run_id: str, texts: Texts) -> None:
        self._con, self._run, self.texts = con, audit_run_id, texts
        runs = self(query("run"))
        if not runs:
            msg = f"{warehouse.published.path}: no run '{audit_run_id[:80]}' is published"
            raise WarehouseError(msg)
        self.run = runs[0]
        texts.sensitive = self.sensitive_of(audit_run_id)

    def __call__(self, text: str, /, **values: object) -> list[Row]:
        """Runs a query and keeps its texts as the policy says."""
        return self.texts.kept(_rows(self._con, text, self._run, self.texts.long, values))

    def sensitive_of(self, audit_run_id: str) -> frozenset[str]:
        """Collects the tasks that the cards of a run, this or another, mark as sensitive."""
        cards = _rows(self._con, query("tasks"), audit_run_id, self.texts.long, {})
        return frozenset(row["task_id"] for row in cards if row["is_sensitive"])


def _rows(con: Connection, text: str, audit_run_id: str, long: int, values: Mapping[str, object]) -> list[Row]:
    # one character more than `long`, so that a cut is seen
    return rows_of(con, text, **{**LIMITS, "run": audit_run_id, "long": long + 1, **values})
