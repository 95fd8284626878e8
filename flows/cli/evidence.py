"""Commands of the reviewer: verify, erase, trace."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.app import app, show, state
from flows.warehouse import Warehouse

WIDTH = 160  # of a tree that no terminal shows


@app.command()
def verify(
    what: Annotated[str | None, typer.Argument(help="A run, or a report's file; default: every run.")] = None,
    seal: Annotated[
        str | None,
        typer.Option(envvar="PROMPTAUDIT_SEAL", help="A seal that was kept elsewhere: at least 12 of its digits."),
    ] = None,
) -> int:
    """Compare the warehouse and its copies with the seals, and list what differs."""
    from flows.report.verify_file import verify_report, verify_with_pages
    from flows.warehouse import Warehouse

    settings, progress = state.settings(), state.progress()
    is_ours = os.access(settings.warehouse.parent, os.W_OK)  # a copy on a medium that nobody writes needs no lock
    with (
        Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say) if is_ours else contextlib.nullcontext()
    ):
        if what is not None and Path(what).suffix == ".html":
            found = verify_report(Warehouse(settings.warehouse), Path(what), seal=seal)
        else:
            found = verify_with_pages(Warehouse(settings.warehouse), what, seal=seal, say=progress.say)
    show(found.as_dict(), "\n".join(found.lines()))
    return found.exit_code


@app.command()
def erase(
    sample: Annotated[str, typer.Option(help="The id of a sample, as its data has it.")],
    task: Annotated[str | None, typer.Option(help="The sample's task; default: every task.")] = None,
    reason: Annotated[str | None, typer.Option(help="The reason, which is kept beside the sample's id.")] = None,
) -> None:
    """Remove a sample's texts from every run, copy and report, and leave a sealed note of it."""
    from flows.erase.erase import erase as erase_sample
    from flows.system.child_processes import guarded
    from flows.warehouse import Warehouse

    settings, progress = state.settings(), state.progress()
    with guarded(), Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say):
        found = erase_sample(Warehouse(settings.warehouse), sample, task, reason)
    show(found.as_dict(), "\n".join(found.lines()))


@app.command()
def trace(
    figures: Annotated[
        list[str],
        typer.Argument(help="Names of figures or rows as the report prints them: rpt_audit.sensitivity.4f1c2a9b0d3e."),
    ],
    text: Annotated[
        str | None,
        typer.Option(
            envvar="PROMPTAUDIT_TEXT",
            help="Inputs, completions and prompts: none, or full; default: full, none of sensitive tasks.",
        ),
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Derive the figures again from the listed raw rows alone.")
    ] = False,
    lineage: Annotated[bool, typer.Option(help="Follow the column down to raw columns.")] = True,
) -> int:
    """Show what a printed figure was made from: formula, raw answers, prompts, models, data, cards, code, run."""
    from flows.evidence.trace.command import trace_figures

    settings, progress = state.settings(), state.progress()
    traced = trace_figures(
        Warehouse(settings.warehouse), figures, text, with_lineage=lineage, with_recompute=recompute, say=progress.say
    )
    show([each.as_dict() for each in traced] if len(traced) > 1 else traced[0].as_dict())
    if not state.as_json:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else WIDTH)
        for each in traced:
            console.print(each.tree())
    return 1 if any(each.agrees is False for each in traced) else 0
