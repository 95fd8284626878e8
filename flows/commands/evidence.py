"""Commands of the reviewer: verify, erase."""

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


@app.command()
def erase(
    sample: Annotated[str, typer.Option(help="The id of a sample, as its data has it.")],
    task: Annotated[str | None, typer.Option(help="Its task; default: in every task.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why, kept beside the sample's id.")] = None,
) -> None:
    """Take a sample's texts out of every run, copy and report, and leave a sealed note that they were."""
    from flows.erase import erase as erase_sample
    from flows.guard import guarded
    from flows.warehouse import hold

    settings, progress = state.settings(), state.progress()
    with guarded(), hold(settings.warehouse, settings.lock_wait_s, progress.say):
        found = erase_sample(settings.warehouse, sample, task, reason)
    show(found.as_dict(), "\n".join(found.lines()))
