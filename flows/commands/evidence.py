"""Commands of the reviewer: verify."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.commands import app, show, state


@app.command()
def verify(
    what: Annotated[str | None, typer.Argument(help="A run, or a report's file; default: every run.")] = None,
    seal: Annotated[
        str | None,
        typer.Option(envvar="PROMPTAUDIT_SEAL", help="A seal that was kept elsewhere: 12 of its digits or more."),
    ] = None,
) -> int:
    """Hold what stands in the warehouse and its copies against the seals, and name what differs."""
    from flows.verify import verify as verify_runs
    from flows.warehouse import hold

    settings, progress = state.settings(), state.progress()
    with hold(settings.warehouse, settings.lock_wait_s, progress.say):
        found = verify_runs(settings.warehouse, what, seal=seal, say=progress.say)
    show(found.as_dict(), "\n".join(found.lines()))
    return found.exit_code
