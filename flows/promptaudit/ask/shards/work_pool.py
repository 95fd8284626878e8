"""Runs askers as flow runs on a Prefect work pool; its workers place them by processes, Docker or Kubernetes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import get_client
from prefect.client.orchestration import PrefectClient
from prefect.deployments.flow_runs import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings
from prefect.states import Cancelled

from promptaudit.engines import Say
from promptaudit.engines.own_code import secrets
from promptaudit.registry.errors import PromptauditError, UsageError, nearest
from promptaudit.system.scrub import one_line

LOOKS_EVERY_S = 2.0
SLOW_S = 60.0
"""After so many seconds without a worker, the run says so."""
WORDS = 300  # characters of why a flow run failed
FLOW = "ask"
PULL = [{"prefect.deployments.steps.set_working_directory": {"directory": "/"}}]
"""What a worker does before a flow: it changes to `/`, where Prefect, which imports from there first, finds no module.

The flow goes on to the folder that the worker's environment names.
"""
OWN_CODE = {"PYTHONSAFEPATH": "1"}
"""The environment of a flow, so that nothing in the worker's folder is imported in place of the installed package."""


def deployment_of(work_pool: str) -> dict[str, Any]:
    """Describes the deployment of askers on a work pool as a prefect.yaml does."""
    return {
        "name": work_pool,
        "description": f"Askers of audits on work pool '{work_pool}': each asks a shard of a run that a night lands.",
        "entrypoint": "promptaudit.ask.asker.flow.ask",
        "parameters": {},
        "schedules": [],
        "work_pool": {"name": work_pool, "job_variables": {"env": dict(OWN_CODE)}},
        "tags": ["promptaudit"],
    }


class WorkPool:
    """Has the workers of a pool run the askers of a run."""

    def __init__(
        self, work_pool: str, audit_id: str, audit_run_id: str, n_shards: int, warehouse: Path, say: Say
    ) -> None:
        self._work_pool, self._say, self._n_shards = work_pool, say, n_shards
        self._parameters = {
            "audit_id": audit_id,
            "audit_run_id": audit_run_id,
            "n_shards": n_shards,
            "warehouse": str(warehouse),
        }
        self._runs: dict[int, UUID] = {}
        self._looked: dict[int, tuple[float, str | None]] = {}
        self._waits_since: dict[int, float] = {}

    async def start(self, shard: int) -> None:
        """Has a worker start an asker; raises UsageError if there is no server or no such pool."""
        with _one_line("did not take an asker"):
            if not get_current_settings().api.url:
                msg = f"askers on work pool '{self._work_pool}' need a Prefect server, and PREFECT_API_URL names none"
                raise UsageError(msg)
            async with get_client() as client:
                await self._have_deployed(client)
            run = await arun_deployment(
                f"{FLOW}/{self._work_pool}",
                parameters=self._parameters | {"shard": shard},
                timeout=0,
                flow_run_name=f"{FLOW} {self._parameters['audit_id']} shard {shard} of {self._n_shards}",
            )
        self._runs[shard] = run.id
        self._looked.pop(shard, None)
        self._waits_since[shard] = time.monotonic()

    async def ended(self, shard: int) -> str | None:
        """Looks up the state that an asker's flow run ended in; None while it runs or waits, or the server is away."""
        looked_at, how = self._looked.get(shard, (0.0, None))
        if time.monotonic() - looked_at < LOOKS_EVERY_S:
            return how
        with contextlib.suppress(Exception):  # the server is away: the askers' own signs of life count
            async with get_client() as client:
                state = (await client.read_flow_run(self._runs[shard])).state
            if state is not None and state.is_final():
                why = (
                    "" if state.is_completed() else one_line(f": {state.message or ''}", secrets(), WORDS).rstrip(": ")
                )
                how = f"its flow run is {state.name}{why}"
            elif state is not None and not state.is_scheduled() and not state.is_pending():
                self._waits_since.pop(shard, None)
        self._looked[shard] = time.monotonic(), how
        since = self._waits_since.get(shard)
        if since is not None and time.monotonic() - since > SLOW_S:
            del self._waits_since[shard]
            self._say(
                f"shard {shard} of {self._n_shards}: no worker of pool '{self._work_pool}' has started its asker yet"
            )
        return how

    async def stop(self) -> None:
        """Cancels the flow runs that no worker has begun. The others end when the lander asks them to."""
        with contextlib.suppress(Exception):  # the server is away
            async with get_client() as client:
                for run in self._runs.values():
                    with contextlib.suppress(ObjectNotFound):  # somebody deleted it
                        state = (await client.read_flow_run(run)).state
                        if state is not None and (state.is_scheduled() or state.is_pending()):
                            await client.set_flow_run_state(run, Cancelled(), force=True)

    async def _have_deployed(self, client: PrefectClient) -> None:
        try:
            await client.read_work_pool(self._work_pool)
        except ObjectNotFound:
            names = [pool.name for pool in await client.read_work_pools()]
            msg = f"Prefect's server has no work pool '{self._work_pool}'{nearest(self._work_pool, names)}"
            raise UsageError(msg) from None
        try:
            await client.read_deployment_by_name(f"{FLOW}/{self._work_pool}")
        except ObjectNotFound:
            wanted = deployment_of(self._work_pool)
            await client.create_deployment(
                await client.create_flow_from_name(FLOW),
                self._work_pool,
                work_pool_name=self._work_pool,
                entrypoint=wanted["entrypoint"],
                description=wanted["description"],
                tags=wanted["tags"],
                pull_steps=PULL,
                enforce_parameter_schema=False,
                job_variables=wanted["work_pool"]["job_variables"],
            )


@contextlib.contextmanager
def _one_line(what: str) -> Iterator[None]:
    # an error leaves as one line that quotes nothing: its words may hold the server's password
    try:
        yield
    except PromptauditError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
        msg = f"Prefect's server, as PREFECT_API_URL names it, {what}: {type(error).__name__}"
        raise UsageError(msg) from None
