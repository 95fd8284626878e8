"""The asker as a Prefect flow, which a run's lander has workers of a work pool start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed

from promptaudit.ask.asker.ask_shard import ask_shard
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import failed
from promptaudit.system.settings import registry_of, settings_of, silence, work_in_audit_folder


@flow(name="ask", flow_run_name="ask {audit_id} shard {shard} of {n_shards}", persist_result=False)
def ask(audit_id: str, audit_run_id: str, shard: int, n_shards: int, warehouse: str | None = None) -> State[Any]:
    """Asks one shard of a run; what it is answered is handed over to the run's lander, which is told too why it fails."""
    silence()
    log, progress = get_run_logger(), Progress()
    log.info("shard %s of %s of run %s", shard, n_shards, audit_run_id)
    try:
        work_in_audit_folder()
        settings = settings_of(None if warehouse is None else Path(warehouse))
        n_answers = ask_shard(settings, registry_of(settings), audit_id, audit_run_id, shard, n_shards, progress)
    except Exception as error:  # noqa: BLE001 - one that Prefect sees it logs and pickles
        return failed(error, progress.warn)
    log.info("%s answers handed over", n_answers)
    return Completed(message=f"{n_answers} answers handed over")
