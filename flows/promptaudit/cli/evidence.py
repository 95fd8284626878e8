"""Commands of the reviewer: verify, cite, erase, trace."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated

import typer

from promptaudit.cli.app import RunName, app, show, state
from promptaudit.warehouse import Warehouse

WIDTH = 160  # columns of a tree if stdout is no terminal
PROMPTS = 200  # answers whose prompts are put together for a tree, which draws a few


@app.command()
def verify(
    what: Annotated[
        str | None,
        typer.Argument(
            help="Name a run, the file of a report, or a folder that cites a run; the default is every run."
        ),
    ] = None,
    seal: Annotated[
        str | None,
        typer.Option(help="Compare with this seal, which was kept elsewhere; at least 12 of its digits are needed."),
    ] = None,
    signers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Require the signature of somebody in this file of allowed signers, as ssh-keygen and git read it.",
        ),
    ] = None,
) -> int:
    """Compare the warehouse and its copies with the seals.

    What differs is listed.
    """
    from promptaudit.report.verify_file import verify_report, verify_with_pages

    settings, progress = state.settings(), state.progress()
    if what is not None and Path(what).is_dir():
        from promptaudit.exchange.citation.verify_folder import verify_folder

        cited = verify_folder(Path(what), seal=seal, signers=signers)
        show(cited, cited.lines())
        return cited.exit_code
    is_ours = os.access(settings.warehouse.parent, os.W_OK)  # a copy on a medium that nobody writes needs no lock
    with (
        Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say) if is_ours else contextlib.nullcontext()
    ):
        if what is not None and Path(what).suffix == ".html":
            result = verify_report(Warehouse(settings.warehouse), Path(what), seal=seal, signers=signers)
        else:
            result = verify_with_pages(
                Warehouse(settings.warehouse), what, seal=seal, signers=signers, say=progress.say
            )
    show(result, result.lines())
    return result.exit_code


@app.command()
def cite(
    run: RunName = "latest",
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Name a new or empty folder; the default is cite-RUN.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Choose full to cite a run of tasks marked sensitive too, with their texts.")
    ] = None,
) -> None:
    """Write what a paper's appendix needs.

    That is a methods paragraph, and a folder of the run that verifies anywhere.
    """
    from promptaudit.exchange.citation.cite import cite as cite_run

    cited = cite_run(Warehouse(state.settings().warehouse), run, to, state.text(text))
    run_id, path = cited.audit_run_id, cited.path
    show(cited, [str(cited.methods), f"{cited.n_answers} answers of run {run_id} in {path}, seal {cited.seal}"])


@app.command()
def erase(
    sample: Annotated[str, typer.Option(help="Give the id of the sample as its data has it.")],
    task: Annotated[str | None, typer.Option(help="Name the task of the sample; the default is every task.")] = None,
    reason: Annotated[str | None, typer.Option(help="Give the reason, which is kept beside the sample's id.")] = None,
) -> None:
    """Remove the texts of a sample from every run, copy and report.

    A sealed note of the removal stays.
    """
    from promptaudit.audit.erase.erase import erase as erase_sample
    from promptaudit.audit.run import make_ready
    from promptaudit.system.child_processes import guarded

    settings, progress = state.settings(), state.progress()
    with guarded(), Warehouse(settings.warehouse).hold(settings.lock_wait_s, progress.say):
        make_ready(Warehouse(settings.warehouse), progress, settings)
        erasure = erase_sample(Warehouse(settings.warehouse), sample, task, reason, settings.spool, progress.say)
    show(erasure, erasure.lines())


@app.command()
def trace(
    figures: Annotated[
        list[str],
        typer.Argument(
            help="Name figures or rows as the report prints them, such as rpt_audit.sensitivity.4f1c2a9b0d3e."
        ),
    ],
    text: Annotated[
        str | None,
        typer.Option(
            help="Choose how much of inputs, completions and prompts is shown: none or full. The default is full, and none of "
            "tasks marked sensitive."
        ),
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Derive the figures again from the listed raw rows alone.")
    ] = False,
    lineage: Annotated[bool, typer.Option(help="Follow the column down to raw columns.")] = True,
) -> int:
    """Show what a printed figure was made from.

    That is its formula, and the raw answers, prompts, models, data, cards, code and run behind it.
    """
    from promptaudit.evidence.trace.command import RecomputedTrace, trace_figures
    from promptaudit.evidence.trace.tree import tree_of

    settings, progress = state.settings(), state.progress()
    traces = trace_figures(
        Warehouse(settings.warehouse),
        figures,
        state.text(text),
        with_lineage=lineage,
        with_recompute=recompute,
        most_prompts=None if state.as_json else PROMPTS,
        say=progress.say,
    )
    show(traces if len(traces) > 1 else traces[0], map(tree_of, traces), WIDTH)
    return 1 if any(isinstance(each, RecomputedTrace) and not each.agrees for each in traces) else 0
