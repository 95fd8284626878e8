"""Nights that are landed by hand, published and sealed."""

from __future__ import annotations

from promptaudit.marts.publish import publish
from promptaudit.warehouse import Warehouse
from tests.support.handmade_warehouse import Gated
from tests.support.landed_nights import AUDIT, land_night


def sealed_night(gated: Gated, night: int = 0) -> str:
    with Warehouse(gated.warehouse).kept_open():
        run = land_night(gated.warehouse, night)
        gated.row("rpt_audit", run, audit_id=AUDIT, sensitivity=0.25, n_samples=4)
        gated.written()
        publish(Warehouse(gated.warehouse), [run])
    return run
