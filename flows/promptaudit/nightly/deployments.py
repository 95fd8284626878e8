"""Makes Prefect's deployments of nightly audits from their cards: schedule, pool, named limits, and automations."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import yaml
from prefect import get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate, GlobalConcurrencyLimitCreate, WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings

from promptaudit.ask.shards.work_pool import OWN_CODE, PULL, deployment_of
from promptaudit.cards.check_cards import check_audit
from promptaudit.nightly.automations import (
    DEAD,
    HEARTBEAT_S,
    apply,
    blocks_of,
    broken_of,
    late_of,
    marks_dead,
    reports_late_or_broken,
)
from promptaudit.nightly.limits import limits_of
from promptaudit.registry.errors import PromptauditError, UsageError, nearest, raise_all
from promptaudit.registry.registry import Registry
from promptaudit.system.files import SHARED, write_text
from promptaudit.system.helper_processes import without_secret_settings
from promptaudit.system.settings import SILENT

TAG = "promptaudit"
POOLS: dict[str, int | None] = {"api": None, "gpu": 1}
"""The work pools, and how many runs each takes at once; None is any number."""
NIGHT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}
HEADER = """\
# Deployments of the nightly flow, an audit each, as `promptaudit deploy AUDIT... --output FILE` writes them from the cards.
# `promptaudit deploy AUDIT...` makes the work pools, the named limits, the automations and these on the server of
# PREFECT_API_URL. The flow is imported from the installed package, and nothing from the folder that holds warehouse/ and
# registry/, to which it goes then: AUDIT_FOLDER of the worker's environment names that. Without a step Prefect would copy it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Lists what a server has after the nights of audits were deployed."""

    url: str  # without a password
    deployments: tuple[dict[str, Any], ...]  # name, parameters, work pool and schedules, as in a prefect.yaml
    work_pools: tuple[str, ...]
    limits: tuple[str, ...]
    automations: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Writes each deployment with its pool and schedule, then the limits, the automations and the server."""
        for each in self.deployments:
            when = "when it is asked for; its card has no schedule"
            if each["schedules"]:
                when = f"on '{each['schedules'][0]['cron']}' (UTC)"
            yield f"deployed  nightly/{each['name']} to pool '{each['work_pool']['name']}', {when}"
        if self.limits:
            yield f"limits    {', '.join(self.limits)}: one at a time each"
        yield from (f"automated {name.removeprefix('promptaudit: ')}" for name in self.automations)
        yield f"server    {self.url}"


def project_of(registry: Registry, audit_ids: list[str]) -> dict[str, Any]:
    """Describes the audits' deployments as a prefect.yaml does; raises every error of their cards."""
    raise_all(error for audit_id in audit_ids for error in check_audit(registry, audit_id).errors)
    return {
        "name": "promptaudit",
        "pull": PULL,
        "deployments": [
            *(_deployment(registry, audit_id) for audit_id in audit_ids),
            *(deployment_of(work_pool) for work_pool in _pools_of_askers(registry, audit_ids)),
        ],
    }


def _deployment(registry: Registry, audit_id: str) -> dict[str, Any]:
    card = registry.audit(audit_id)
    is_by_gpu = any(registry.model(model_id).is_by_vllm for model_id in registry.models_of(audit_id))
    pool = "gpu" if is_by_gpu else "api"
    # the slug keeps this the same schedule when the night is deployed again
    schedule = {"slug": "nightly", "cron": card.schedule, "timezone": "UTC", "active": True}
    return {
        "name": audit_id,
        "description": f"The night of audit '{audit_id}'.",
        "entrypoint": "promptaudit.nightly.flow.nightly",
        "parameters": {"audit_id": audit_id, "warehouse": None},
        "schedules": [] if card.schedule is None else [schedule],
        # no limit of Prefect's: a second night waits for the warehouse, whose lock ends with its process, while a server
        # that was restarted may have forgotten who held a place, and then nothing of ours runs that could say so
        "work_pool": {"name": pool, "job_variables": {"env": NIGHT | OWN_CODE}},
        "tags": [TAG, audit_id],
    }


def _pools_of_askers(registry: Registry, audit_ids: list[str]) -> list[str]:
    pools = {registry.audit(audit_id).askers.work_pool for audit_id in audit_ids}
    return sorted(pool for pool in pools if pool is not None)


def server_url() -> str:
    """Reads the address of Prefect's server, as PREFECT_API_URL has it; raises UsageError if it has none."""
    url = get_current_settings().api.url
    if not url:
        msg = "PREFECT_API_URL names no server; start one with `prefect server start` and set it"
        raise UsageError(msg)
    return url


def write_project(project: dict[str, Any], path: Path) -> Path:
    """Writes what `project_of` describes to `path` as a prefect.yaml, and deploys nothing."""
    return write_text(HEADER + _yaml(project), path, SHARED)


def deploy(registry: Registry, audit_ids: list[str], project: dict[str, Any]) -> Deployment:
    """Makes what the audits' nights need on the server of PREFECT_API_URL; `project` is what `project_of` describes.

    What differs from the cards is changed, but pools, limits and job variables that are there stay as an operator has
    set them.

    Raises:
        UsageError: no server is named, it does not take something, or it lacks a notification block or work pool that a
            card names; or a night is running of a deployment with a limit of its own, which an older release made.
    """
    url = server_url()
    limits = sorted({name for audit_id in audit_ids for name in limits_of(registry, audit_id)})
    with _server() as client:
        blocks = {each: blocks_of(client, each, registry.audit(each).notify_blocks) for each in audit_ids}
        for name, most in POOLS.items():
            pool = WorkPoolCreate(name=name, type="process", concurrency_limit=most)
            _make_missing(partial(client.read_work_pool, name), partial(client.create_work_pool, pool))
        for name in _pools_of_askers(registry, audit_ids):
            _refuse_unknown_pool(client, name)
        for name in limits:
            limit = GlobalConcurrencyLimitCreate(name=name, limit=1)
            _make_missing(
                partial(client.read_global_concurrency_limit_by_name, name),
                partial(client.create_global_concurrency_limit, limit),
            )
        for audit_id in audit_ids:
            _refuse_while_limited(client, audit_id)
        kept = {name: variables for name in _names(project) if (variables := _job_variables(client, name))}
    try:
        _deploy(project)
    finally:
        with _server() as client:
            for name, variables in kept.items():
                _set_job_variables(client, name, variables)
    with _server() as client:
        automations = _automations(client, blocks)
        apply(client, automations)
    names = ("name", "parameters", "work_pool", "schedules")
    return Deployment(
        url=_bare(url),
        deployments=tuple({name: each[name] for name in names} for each in project["deployments"]),
        work_pools=tuple(POOLS),
        limits=tuple(limits),
        automations=tuple(name for name, automation in automations.items() if automation is not None),
    )


@contextmanager
def _server() -> Iterator[SyncPrefectClient]:
    try:
        with get_client(sync_client=True) as client:
            yield client
    except PromptauditError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises, which may quote a password
        msg = f"Prefect's server, as PREFECT_API_URL names it, did not take the deployment: {type(error).__name__}"
        raise UsageError(msg) from None


def _automations(client: SyncPrefectClient, blocks: Mapping[str, Sequence[UUID]]) -> dict[str, AutomationCore | None]:
    # by name; None for an audit that names no block any more, whose automations are deleted
    wanted: dict[str, AutomationCore | None] = {DEAD: marks_dead(TAG)}
    for audit_id, block_ids in blocks.items():
        wanted |= dict.fromkeys((late_of(audit_id), broken_of(audit_id)))
        if block_ids:
            deployment = client.read_deployment_by_name(f"nightly/{audit_id}")
            wanted |= {each.name: each for each in reports_late_or_broken(audit_id, deployment.id, block_ids)}
    return wanted


def _bare(url: str) -> str:
    # without the password that may stand in an address
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _refuse_unknown_pool(client: SyncPrefectClient, name: str) -> None:
    # a work pool of askers is not made here, since its type is an operator's choice
    names = [pool.name for pool in client.read_work_pools()]
    if name not in names:
        msg = f"askers.work_pool: the server has no work pool '{name}'{nearest(name, names)}"
        raise UsageError(msg)


def _refuse_while_limited(client: SyncPrefectClient, audit_id: str) -> None:
    # the server ends no run whose deployment's limit has gone meanwhile
    try:
        deployment = client.read_deployment_by_name(f"nightly/{audit_id}")
    except ObjectNotFound:
        return
    of_it = {
        "deployment_id": {"any_": [deployment.id]},
        "state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}},
    }
    if deployment.global_concurrency_limit is not None and (
        runs := client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(of_it))
    ):
        msg = f"{runs[0].name} is running under a limit of its deployment, which is taken away: deploy '{audit_id}' after it"
        raise UsageError(msg)


def _names(project: Mapping[str, Any]) -> list[str]:
    # as Prefect names deployments: `nightly/quickstart`
    return [f"{each['entrypoint'].rpartition('.')[2]}/{each['name']}" for each in project["deployments"]]


def _job_variables(client: SyncPrefectClient, name: str) -> dict[str, Any]:
    try:
        return dict(client.read_deployment_by_name(name).job_variables or {})
    except ObjectNotFound:
        return {}


def _set_job_variables(client: SyncPrefectClient, name: str, kept: Mapping[str, Any]) -> None:
    # what an operator had set goes over the deployment's own, except for our variables of its environment;
    # through `prefect deploy` the secret of a block would be put in the place of its name
    deployed = client.read_deployment_by_name(name)
    now: Mapping[str, Any] = deployed.job_variables or {}
    others = kept.get("env")
    wanted = {**now, **kept, "env": {**(others if isinstance(others, dict) else {}), **(now.get("env") or {})}}
    if wanted != now:
        client.update_deployment(deployed.id, DeploymentUpdate(job_variables=wanted))


def _make_missing(read: Callable[[], object], make: Callable[[], object]) -> None:
    try:
        read()
    except ObjectNotFound:
        make()


def _deploy(project: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(_yaml(project), encoding="utf-8")
        line = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
        done = subprocess.run(  # noqa: S603 - this interpreter, our own words
            line,
            cwd=folder,
            env=without_secret_settings() | SILENT,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    if done.returncode:
        # its words may quote the server's address with a password in it
        msg = f"`prefect deploy` ended with {done.returncode}; `promptaudit deploy AUDIT... --output FILE` writes its input"
        raise UsageError(msg)


def _yaml(project: dict[str, Any]) -> str:
    return str(yaml.safe_dump(project, sort_keys=False, allow_unicode=True, width=120))
