"""Serves the nightly flow on the schedule of an audit's card, without a worker."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

from prefect.runner import Runner

from promptaudit.cards.check_cards import check_audit
from promptaudit.nightly.deployments import TAG, server_url
from promptaudit.nightly.flow import nightly
from promptaudit.registry.errors import CardError, raise_all
from promptaudit.registry.registry import Registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.prefect_server import apart
from promptaudit.system.settings import AUDIT_FOLDER, Settings


def serve_nightly(settings: Settings, registry: Registry, audit_id: str, progress: Progress) -> None:
    """Serves the flow on the schedule of the audit's card until interrupted; a server of Prefect has to be there.

    Raises CardError if the card has no schedule, UsageError if no server is named.
    """
    raise_all(check_audit(registry, audit_id).errors)
    card = registry.audit(audit_id)
    if card.schedule is None:
        msg = f"audit '{audit_id}' has no schedule; put one in its card: schedule: \"0 2 * * *\""
        raise CardError(msg)
    server_url()
    progress.say(f"serving '{audit_id}' on '{card.schedule}' (UTC); Ctrl-C ends it")
    runner = Server(name=f"nightly {audit_id}", limit=1, pause_on_shutdown=False)
    runner.add_flow(
        nightly,
        name=f"nightly {audit_id}",
        cron=card.schedule,
        parameters={"audit_id": audit_id, "warehouse": str(settings.warehouse.resolve())},
        tags=[TAG, audit_id],
    )
    os.environ[AUDIT_FOLDER] = str(Path.cwd())  # for its nights, whose processes start apart too
    with apart():
        asyncio.run(runner.start())


class Server(Runner):
    """Serves until interrupted. SIGTERM ends it, and the night it is in, as Ctrl-C does."""

    def handle_sigterm(self, *_: object) -> None:
        """Ends the night and leaves as Ctrl-C does. Prefect's own handler would wait for the night and leave with 0."""
        for served in multiprocessing.active_children():
            served.terminate()
        signal.raise_signal(signal.SIGINT)
