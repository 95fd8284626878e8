"""Copies a published warehouse with the rows of one run alone, and with the chain of seals that covers them."""

from __future__ import annotations

import shutil

from promptaudit.marts.seal import OF_CANDIDATES, OF_RUNS, compares
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

KEPT_WHOLE = (("raw", "schema_versions"), ("raw", "seals"))
"""Tables that belong to no run. A seal holds run ids, hashes and counts; without one the chain proves nothing."""


def copy_run(published: Warehouse, audit_run_id: str, target: Warehouse) -> None:
    """Copies the published copy of `published` to `target`, without the rows of every other run.

    Raises OSError or WarehouseError where it cannot be written.
    """
    copy = target.published.path
    copy.parent.mkdir(parents=True)
    shutil.copyfile(published.published.path, copy)
    own = Warehouse(copy)
    with own.write() as con:
        for schema, table, columns in con.execute(sql("exchange.citation", "tables")).fetchall():
            if (schema, table) in KEPT_WHOLE:
                continue
            of_run = OF_CANDIDATES if schema == "marts" and compares(table) else OF_RUNS
            # a build's tables between its models may name no run, and hold rows of other runs too
            others = f"where {of_run} is distinct from $run" if of_run in columns else "where $run is not null"
            con.execute(f'delete from "{schema}"."{table}" {others}', {"run": audit_run_id})  # noqa: S608 - a table's own name
    own.rewrite()
