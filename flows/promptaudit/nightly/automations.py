"""Makes Prefect's automations of nights: they mark a dead night as crashed, and report a late, crashed or missed one.

The server acts by itself, with the notification blocks that audit cards name: it notifies people although every worker is
gone. The addresses in those blocks are the server's own; a card and a deployment hold only the names of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

from promptaudit.registry.errors import UsageError

HEARTBEAT_S, SILENCE = 60, timedelta(minutes=15)
"""The seconds between signs of life of a night, and how long after the last one the night is marked as crashed."""
LATE_BY = timedelta(minutes=15)
"""How long after its time people hear of a night that no worker took."""
DEAD = "promptaudit: a night that gives no sign of life"
SUBJECT = "promptaudit: the night of {{ deployment.name }} is {{ flow_run.state.name }}"
"""A template of Prefect's own variables, as BODY is; no text of a card ever stands in one."""
BODY = """\
{{ flow_run.state.message }}
run {{ flow_run.name }}: {{ flow_run|ui_url }}
"""
EVERY_RUN = {"prefect.resource.id": ["prefect.flow-run.*"]}


def blocks_of(client: SyncPrefectClient, audit_id: str, names: Sequence[str]) -> list[UUID]:
    """Looks up the ids of the notification blocks that an audit's card names.

    Raises:
        UsageError: the server has no such block, or it notifies nobody.
    """
    ids = []
    for name in names:
        kind, _, block = name.partition("/")
        try:
            document = client.read_block_document_by_name(block, kind, include_secrets=False)
        except ObjectNotFound:
            msg = f"audit '{audit_id}', notify_blocks: the server has no block '{name}'; make it on the page Blocks of its UI"
            raise UsageError(msg) from None
        if "notify" not in (document.block_schema.capabilities if document.block_schema else ()):
            msg = f"audit '{audit_id}', notify_blocks: the block '{name}' notifies nobody; name a notification block"
            raise UsageError(msg)
        ids.append(document.id)
    return ids


def marks_dead(tag: str) -> AutomationCore:
    """Makes the automation that marks a night without a living process as crashed, so that people hear of it."""
    minutes = int(SILENCE.total_seconds() // 60)
    return AutomationCore(
        name=DEAD,
        description="Its process or its machine is gone; what it had landed is kept, and the next night goes on with it.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},  # any word of it: another heartbeat, or a state of whatever name
            match=ResourceSpecification(EVERY_RUN),
            match_related=_related("tag", f"prefect.tag.{tag}"),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=f"no sign of life for {minutes} minutes")],
    )


def reports_late_or_broken(audit_id: str, deployment_id: UUID, blocks: Sequence[UUID]) -> list[AutomationCore]:
    """Makes the automations that report a late and a broken night of an audit through notification blocks."""
    of_audit = {
        "match": ResourceSpecification(EVERY_RUN),
        "match_related": _related("deployment", f"prefect.deployment.{deployment_id}"),
        "for_each": {"prefect.resource.id"},
        "threshold": 1,
    }
    late = EventTrigger(
        after={"prefect.flow-run.Late"},
        expect={"prefect.flow-run.*"},
        posture=Posture.Proactive,
        within=LATE_BY,
        **of_audit,
    )
    broken = EventTrigger(
        expect={"prefect.flow-run.Crashed", "prefect.flow-run.Missed"},
        posture=Posture.Reactive,
        within=timedelta(0),
        **of_audit,
    )
    actions: Any = [SendNotification(block_document_id=block, subject=SUBJECT, body=BODY) for block in blocks]
    return [
        AutomationCore(name=late_of(audit_id), description="No worker has taken it.", trigger=late, actions=actions),
        AutomationCore(
            name=broken_of(audit_id), description="It crashed, hung or was missed.", trigger=broken, actions=actions
        ),
    ]


def late_of(audit_id: str) -> str:
    """Names the automation that reports a late night."""
    return f"promptaudit: a late night of {audit_id}"


def broken_of(audit_id: str) -> str:
    """Names the automation that reports a night that crashed, hung or was missed."""
    return f"promptaudit: a broken night of {audit_id}"


def apply(client: SyncPrefectClient, wanted: Mapping[str, AutomationCore | None]) -> None:
    """Makes or updates each automation by its name, and deletes one that is None.

    One that is as it should be is left alone: an update forgets the runs that its trigger waits for.
    """
    for name, automation in wanted.items():
        there = client.read_automations_by_name(name)
        if automation is None:
            for each in there:
                client.delete_automation(each.id)
        elif there and _content(there[0]) != _content(automation):
            client.update_automation(there[0].id, automation)
        elif there:
            continue
        else:
            client.create_automation(automation)


def _content(automation: AutomationCore) -> object:
    # without ids, of which each trigger that is made has a new one
    def bare(value: object) -> object:
        if isinstance(value, dict):
            return {name: bare(each) for name, each in value.items() if name != "id"}
        if isinstance(value, list):
            return sorted(map(bare, value), key=str)  # the order of sets differs from process to process
        return value

    return bare(automation.model_dump(mode="json", include=set(AutomationCore.model_fields)))


def _related(role: str, resource_id: str) -> ResourceSpecification:
    return ResourceSpecification({"prefect.resource.role": role, "prefect.resource.id": resource_id})
