"""Runs the audit under Prefect, and without it where Prefect cannot be reached: an outage loses no audit."""

from __future__ import annotations

import os
from typing import Any

from flows.progress import Progress
from flows.settings import silence
from flows.steps import Order, Outcome


def run_tracked(order: Order, progress: Progress) -> Outcome:
    """One execution as a Prefect flow run, on the server of PREFECT_API_URL or an ephemeral one."""
    server = _quieted(order)
    progress.say(f"Prefect server: {server}" if server else "no PREFECT_API_URL: starting an ephemeral Prefect server")
    from flows.audit import Ended, audit, run_steps

    ended = Ended()

    def work() -> Any:  # noqa: ANN401 - a state of Prefect's, whose import takes seconds
        return ended.state_of(lambda: run_steps(order, progress))

    try:
        audit(audit_id=order.design.audit_id, audit_run_id=order.audit_run_id, work=work, return_state=True)
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
        progress.warn(f"Prefect: {type(error).__name__}; the audit goes on without it")
    outcome: Outcome = ended.result() if ended.has_run else run_steps(order, progress)
    return outcome


def run_small(order: Order, progress: Progress) -> Outcome:
    """One execution that starts no server of its own: on that of PREFECT_API_URL, else the steps alone."""
    if _quieted(order):
        return run_tracked(order, progress)
    from flows.audit import run_steps

    return run_steps(order, progress)


def _quieted(order: Order) -> str | None:
    """Keeps Prefect quiet and its files out of the user's home; the address of the server there is."""
    silence()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    server = os.environ.get("PREFECT_API_URL")
    if not server:  # an ephemeral server's files belong to the audit, not to the user's home
        os.environ.setdefault("PREFECT_HOME", str(order.warehouse.resolve().parent / "prefect"))
    return server
