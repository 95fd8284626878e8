"""Makes Prefect's deployments of nightly audits from their cards: schedule, pool, named limits, and what marks a dead night."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from prefect import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings

from flows.audit.check_cards import check_audit
from flows.nightly.limits import limits_of
from flows.settings import AUDIT_FOLDER, SILENT
from flows.system.files import SHARED, write_text
from models_registry.errors import UsageError, raise_all
from models_registry.registry import Registry

TAG = "promptaudit"
POOLS: dict[str, int | None] = {"api": None, "gpu": 1}
"""The work pools, and how many runs each takes at once: any number, or one."""
HEARTBEAT_S, SILENCE = 60, timedelta(minutes=15)
"""How often a night tells the server that it lives, and after how long without that it is marked as crashed."""
DEAD = "promptaudit: a night that gives no sign of life"
HEADER = """\
# Deployments of the nightly flow, an audit each, as `promptaudit deploy AUDIT... --output FILE` writes them from the cards.
# `promptaudit deploy AUDIT...` makes the work pools, the named limits, the automation and these on the server of
# PREFECT_API_URL. The flow is imported from the installed package; the worker's environment names the folder that holds
# warehouse/ and registry/. Without a step for it Prefect would copy that folder each night.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a server has after the nights of audits were deployed."""

    url: str  # without a password
    deployments: tuple[dict[str, Any], ...]  # name, parameters, work pool and schedules, as in a prefect.yaml
    work_pools: tuple[str, ...]
    limits: tuple[str, ...]
    automations: tuple[str, ...]


def project_of(registry: Registry, audit_ids: list[str]) -> dict[str, Any]:
    """Returns the audits' deployments as a prefect.yaml has them; raises every error of their cards."""
    raise_all(error for audit_id in audit_ids for error in check_audit(registry, audit_id).errors)
    return {
        "name": "promptaudit",
        "pull": [{"prefect.deployments.steps.set_working_directory": {"directory": f"{{{{ ${AUDIT_FOLDER} }}}}"}}],
        "deployments": [_deployment(registry, audit_id) for audit_id in audit_ids],
    }


def _deployment(registry: Registry, audit_id: str) -> dict[str, Any]:
    card = registry.audit(audit_id)
    is_by_gpu = any(registry.model(model_id).is_by_vllm for model_id in registry.models_of(audit_id))
    pool = "gpu" if is_by_gpu else "api"
    # a slug keeps one schedule through every deployment anew
    schedule = {"slug": "nightly", "cron": card.schedule, "timezone": "UTC", "active": True}
    return {
        "name": audit_id,
        "description": f"The night of audit '{audit_id}'.",
        "entrypoint": "flows.nightly.flow.nightly",
        "parameters": {"audit_id": audit_id, "warehouse": None},
        "schedules": [] if card.schedule is None else [schedule],
        # a night that is late waits and is held; cancelled, it would be a night without figures
        "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
        "work_pool": {"name": pool, "job_variables": {"env": {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}}},
        "tags": [TAG, audit_id],
    }


def server_url() -> str:
    """Returns the address that PREFECT_API_URL has of a server; raises UsageError where it has none."""
    url = get_current_settings().api.url
    if not url:
        msg = "PREFECT_API_URL names no server; start one with `prefect server start` and set it"
        raise UsageError(msg)
    return url


def write_project(registry: Registry, audit_ids: list[str], path: Path) -> Path:
    """Writes the audits' deployments to `path` as a prefect.yaml, and deploys nothing."""
    return write_text(HEADER + _yaml(project_of(registry, audit_ids)), path, SHARED)


def deploy(registry: Registry, audit_ids: list[str]) -> Deployment:
    """Makes what the audits' nights need on the server of PREFECT_API_URL; called again, it changes what differs from the cards.

    Pools and limits that are there stay as an operator has set them; the automation is set anew.

    Raises:
        UsageError: no server is named, or it does not take something.
    """
    project = project_of(registry, audit_ids)
    url = server_url()
    limits = sorted({name for audit_id in audit_ids for name in limits_of(registry, audit_id)})
    try:
        with get_client(sync_client=True) as client:
            for name, most in POOLS.items():
                pool = WorkPoolCreate(name=name, type="process", concurrency_limit=most)
                _unless_there(partial(client.read_work_pool, name), partial(client.create_work_pool, pool))
            for name in limits:
                limit = GlobalConcurrencyLimitCreate(name=name, limit=1)
                _unless_there(
                    partial(client.read_global_concurrency_limit_by_name, name),
                    partial(client.create_global_concurrency_limit, limit),
                )
            marking, known = _marking(), client.read_automations_by_name(DEAD)
            if known:
                client.update_automation(known[0].id, marking)
            else:
                client.create_automation(marking)
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises, which may quote a password
        msg = f"Prefect's server, as PREFECT_API_URL names it, did not take the deployment: {type(error).__name__}"
        raise UsageError(msg) from None
    _deploy(project)
    names = ("name", "parameters", "work_pool", "schedules")
    return Deployment(
        url=_bare(url),
        deployments=tuple({name: each[name] for name in names} for each in project["deployments"]),
        work_pools=tuple(POOLS),
        limits=tuple(limits),
        automations=(DEAD,),
    )


def _bare(url: str) -> str:
    """Returns an address without the password that stands in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _unless_there(read: Callable[[], object], make: Callable[[], object]) -> None:
    try:
        read()
    except ObjectNotFound:
        make()


def _marking() -> AutomationCore:
    """Returns the automation that marks a night as crashed whose process is gone, so that the next one need not wait for it."""
    minutes = int(SILENCE.total_seconds() // 60)
    return AutomationCore(
        name=DEAD,
        description="Its process or its machine is gone; what it had landed is kept, and the next night goes on with it.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},  # any word of it: another heartbeat, or a state of whatever name
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=ResourceSpecification(
                {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
            ),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=f"no sign of life for {minutes} minutes")],
    )


def _deploy(project: dict[str, Any]) -> None:
    """Calls `prefect deploy` in an empty folder, and without AUDIT_FOLDER, which it would write into the deployment."""
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(_yaml(project), encoding="utf-8")
        line = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
        done = subprocess.run(  # noqa: S603 - this interpreter, our own words
            line, cwd=folder, env={name: value for name, value in os.environ.items() if name != AUDIT_FOLDER} | SILENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    if done.returncode:
        # its words may quote the server's address with a password in it
        msg = f"`prefect deploy` ended with {done.returncode}; `promptaudit deploy AUDIT... --output FILE` writes its input"
        raise UsageError(msg)


def _yaml(project: dict[str, Any]) -> str:
    return str(yaml.safe_dump(project, sort_keys=False, allow_unicode=True, width=120))
