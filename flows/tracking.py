"""Runs the audit under Prefect, and without it where Prefect cannot be reached: an outage loses no audit."""

from __future__ import annotations

import os

from flows.progress import Progress
from flows.settings import silence
from flows.steps import Order, Outcome


def run_tracked(order: Order, progress: Progress) -> Outcome:
    """One execution as a Prefect flow run, on the server of PREFECT_API_URL or an ephemeral one."""
    silence()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    server = os.environ.get("PREFECT_API_URL")
    if not server:  # an ephemeral server's files belong to the audit, not to the user's home
        os.environ.setdefault("PREFECT_HOME", str(order.warehouse.resolve().parent / "prefect"))
    progress.say(f"Prefect server: {server}" if server else "no PREFECT_API_URL: starting an ephemeral Prefect server")
    from flows.audit import audit, run_steps

    body = _Body()

    def work() -> Outcome:
        try:
            body.outcome = run_steps(order, progress)
        except BaseException as error:
            body.error = error
            raise
        return body.outcome

    try:
        audit(audit_id=order.design.audit_id, audit_run_id=order.audit_run_id, work=work)
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
        if body.error is not None and not _is_prefects(body.error):
            raise body.error from None
        progress.warn(f"Prefect: {type(error).__name__}; the audit goes on without it")
    if body.outcome is None:
        body.outcome = run_steps(order, progress)
    return body.outcome


class _Body:
    """How the steps themselves ended, whatever Prefect makes of it."""

    outcome: Outcome | None = None
    error: BaseException | None = None


def _is_prefects(error: BaseException) -> bool:
    """Whether an error came out of Prefect's own client rather than out of a step."""
    return type(error).__module__.partition(".")[0] in ("prefect", "httpx", "httpcore")
