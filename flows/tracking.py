"""Runs the audit under Prefect, and without it where Prefect cannot be reached: an outage loses no audit.

Prefect reads `.env`, `prefect.toml` and `pyproject.toml` of the folder it is imported in, and `profiles.toml`, `logging.yml`
and a database of PREFECT_HOME: each can name another server, or code to run. A folder of cards may be somebody else's, so
Prefect is imported, and whatever it starts is started, `apart`. Then the environment and the user's own profile decide.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flows import cache
from flows.progress import Progress
from flows.settings import silence
from flows.steps import Order, Outcome


def run_tracked(order: Order, progress: Progress) -> Outcome:
    """One execution as a Prefect flow run, on the server that Prefect is set to or an ephemeral one."""
    server = server_url()
    progress.say(f"Prefect server: {server}" if server else "no PREFECT_API_URL: starting an ephemeral Prefect server")
    from prefect import get_client

    from flows.audit import Ended, audit, run_steps

    ended = Ended()

    def work() -> Any:  # noqa: ANN401 - a state of Prefect's, whose import takes seconds
        return ended.state_of(lambda: run_steps(order, progress))

    try:
        if not server:
            with apart():
                get_client(sync_client=True)  # starts the server, which the flow then finds running
        audit(audit_id=order.design.audit_id, audit_run_id=order.audit_run_id, work=work, return_state=True)
    except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
        progress.warn(f"Prefect: {type(error).__name__}; the audit goes on without it")
    outcome: Outcome = ended.result() if ended.has_run else run_steps(order, progress)
    return outcome


def run_small(order: Order, progress: Progress) -> Outcome:
    """One execution that starts no server of its own: on that which Prefect is set to, else the steps alone."""
    if server_url():
        return run_tracked(order, progress)
    from flows.audit import run_steps

    return run_steps(order, progress)


def server_url() -> str | None:
    """The address of Prefect's server by PREFECT_API_URL or the user's profile; imports Prefect, which takes seconds."""
    with apart():
        from prefect.settings import get_current_settings

        import flows.audit  # noqa: F401 - the first import settles what Prefect goes by
    return get_current_settings().api.url


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Works in a private folder of ours meanwhile, where Prefect finds none of the files it would read in the user's.

    Prefect is kept quiet. Its own files go there too, unless PREFECT_HOME says where, and its profiles are the user's. The
    working folder is that of all threads: none that needs it may run beside this.
    """
    silence()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    folder = cache.folder("prefect")
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect").expanduser().absolute()
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").absolute()
    os.environ["PREFECT_HOME"] = str(home if os.environ.get("PREFECT_HOME") else folder)
    os.environ["PREFECT_PROFILES_PATH"] = str(profiles)
    with contextlib.chdir(folder):
        yield
