"""The audit as a Prefect flow that can be deployed; its steps are in `steps`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed

from promptaudit.audit.run import run_audit
from promptaudit.audit.steps import RunOptions
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import events_sent, failed
from promptaudit.system.settings import registry_of, settings_of, silence, work_in_audit_folder


def run_name() -> str:
    """Returns what a person calls a run of the flow: the audit."""
    return str((flow_run.parameters or {}).get("audit_id", ""))


@flow(name="audit", flow_run_name=run_name, persist_result=False)
def audit(
    audit_id: str,
    warehouse: str | None = None,
    *,
    new: bool = False,
    rephrase: bool = False,
    max_usd: float | None = None,
    max_requests: int | None = None,
) -> State[Any]:
    """Executes an audit; a run that was begun goes on, also where this flow run is taken again."""
    silence()
    progress = Progress()
    try:
        work_in_audit_folder()
        place = None if warehouse is None else Path(warehouse)
        settings = settings_of(place, max_usd=max_usd, max_requests=max_requests)
        with events_sent():
            options = RunOptions(new=new, rephrase=rephrase)
            done = run_audit(settings, registry_of(settings), audit_id, progress, options)
    except Exception as error:  # noqa: BLE001 - one that Prefect sees it logs and pickles
        return failed(error, progress.warn)
    return Completed(message=done.headline)
