"""Runs the asker as a Prefect flow, which a run's lander has workers of a work pool start."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed

from promptaudit.ask.asker.ask_shard import ask_shard
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import deployed
from promptaudit.system.settings import Settings, registry_of


@flow(name="ask", flow_run_name="ask {audit_id} shard {shard} of {n_shards}", persist_result=False)
def ask(audit_id: str, audit_run_id: str, shard: int, n_shards: int, warehouse: str | None = None) -> State[Any]:
    """Asks one shard of a run; its answers are handed over to the run's lander, and so is the reason if it fails."""
    log, progress = get_run_logger(), Progress()
    log.info("shard %s of %s of run %s", shard, n_shards, audit_run_id)

    def work(settings: Settings) -> State[Any]:
        n_answers = ask_shard(settings, registry_of(settings), audit_id, audit_run_id, shard, n_shards, progress)
        log.info("%s answers handed over", n_answers)
        return Completed(message=f"{n_answers} answers handed over")

    return deployed(work, progress.warn, warehouse)
