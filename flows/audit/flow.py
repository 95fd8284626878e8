"""The audit as a Prefect flow that can be deployed; its steps are in `steps`."""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.runtime import flow_run

from flows.audit.run_audit import run_audit
from flows.display.progress import Progress
from flows.settings import registry_of, settings_of, silence, work_in_audit_folder
from flows.system.prefect_steps import told_as_step_failed


def run_name() -> str:
    """Returns what a person calls a run of the flow: the audit."""
    return str((flow_run.parameters or {}).get("audit_id", ""))


@flow(name="audit", flow_run_name=run_name, persist_result=False)
def audit(  # noqa: PLR0913 - what the command takes
    audit_id: str,
    warehouse: str | None = None,
    *,
    new: bool = False,
    rephrase: bool = False,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> str:
    """Executes an audit and returns its run's id; one that was begun goes on, also where this flow run is taken again."""
    silence()
    with told_as_step_failed():
        work_in_audit_folder()
        settings, progress = settings_of(None if warehouse is None else Path(warehouse)), Progress()
        done = run_audit(
            settings, registry_of(settings), audit_id, progress,
            new=new, rephrase=rephrase, max_usd=max_usd, max_requests=max_requests,
        )  # fmt: skip
    return done.audit_run_id
