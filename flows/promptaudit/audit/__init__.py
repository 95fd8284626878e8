"""An audit from its cards to its marts: a run and its steps, the format gate, rebuild, erase."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptaudit.audit.run import RunResult
    from promptaudit.audit.steps import AuditRun, Outcome, RunOptions
    from promptaudit.registry.registry import Registry
    from promptaudit.system.display.progress import Progress
    from promptaudit.system.settings import Settings


def run_audit(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    progress: Progress,
    options: RunOptions | None = None,
    on_open: Callable[[str], None] | None = None,
) -> RunResult:
    """Continues, finds complete or makes a run of an audit (`audit.run`), as a flow run of Prefect unless that is off."""
    from promptaudit.audit import run

    return run.run_audit(settings, registry, audit_id, progress, options, on_open, _measure)


def _measure(run: AuditRun) -> Outcome:
    from promptaudit.audit import steps
    from promptaudit.system.prefect_server import is_in_flow_run, load_prefect
    from promptaudit.system.settings import Settings

    if not (Settings().prefect or is_in_flow_run()):
        return steps.measure(run)
    load_prefect()
    from promptaudit.audit.flow import measure

    return measure(run)
