"""Commands of the nightly audit: nightly, rehearse, serve, deploy, compare, check, accept, pin, history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from promptaudit.cli.app import (
    AuditName,
    MaxUsd,
    ModelOption,
    RunName,
    StrategyOption,
    TaskOption,
    app,
    show,
    show_closing,
    state,
)
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse import Warehouse

WIDTH = 130  # columns of a table if stdout is no terminal


@app.command()
def nightly(
    audit: AuditName = "nightly",
    new: Annotated[bool, typer.Option("--new", help="Begin another night even if the last one is recent.")] = False,
    max_usd: MaxUsd = None,
) -> int:
    """Run tonight's audit and hold it against the nights before.

    It continues or starts tonight's run, compares it with normal nights, checks the gate, writes the report and sends messages.
    """
    from promptaudit.nightly.night import night
    from promptaudit.report.terminal.closing import runbook_lines
    from promptaudit.system.settings import registry_of

    settings = state.settings(max_usd=max_usd)
    result = night(settings, lambda: registry_of(settings), audit, state.progress(), new=new)
    warehouse = Warehouse(settings.warehouse)
    show(result, [*result.lines(state.options), *runbook_lines(warehouse, settings, result.exit_code)])
    show_closing(warehouse, result.audit_run_id)
    return result.exit_code


@app.command()
def rehearse(
    audit: Annotated[
        str | None,
        typer.Argument(help="Name the card of an audit; without one, two weeks of a small audit are played."),
    ] = None,
    lose: Annotated[
        int | None, typer.Option(min=1, help="Lose so many samples that were right; the default is 4.")
    ] = None,
    shift: Annotated[
        float | None, typer.Option(help="Move the right answers by this share, as -.05, others on each night.")
    ] = None,
    break_wording: Annotated[bool, typer.Option("--break-wording", help="Leave one wording without answers.")] = False,
    swap_judge: Annotated[
        bool, typer.Option("--swap-judge", help="Have another model rule in the judge's place.")
    ] = False,
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
    folder: Annotated[
        Path | None, typer.Option(help="Keep the rehearsed nights and their pages in this new or empty folder.")
    ] = None,
) -> int:
    """Put a fault into copies of nights, and say which one tells.

    Nothing is asked, and nothing is written to the warehouse. The fault is in one model under one task and strategy.
    The exit code is 0 where one of three nights tells of it, 1 where none does and 3 where too few nights are recorded.
    """
    from promptaudit.nightly.faults import Fault, fault_of

    fault = fault_of(lose=lose, shift=shift, breaks_wording=break_wording, swaps_judge=swap_judge)
    if audit is None:
        from promptaudit.nightly.demonstration import demonstrate

        if fault is not None or model or task or strategy:
            msg = "name the audit whose nights get the fault; without one, two weeks of a small audit are played"
            raise UsageError(msg)
        played = demonstrate(
            state.settings(),
            state.progress(),
            folder,
            lambda night: None if state.as_json else show({}, [night.line]),
        )
        show(played, played.lines())
        return played.exit_code
    from promptaudit.nightly.rehearse import rehearse as rehearse_audit

    settings, registry = state.load()
    result = rehearse_audit(
        settings,
        registry,
        audit,
        fault or Fault(lose=4),
        state.progress(),
        names={"model": model, "task": task, "strategy": strategy},
        folder=folder,
    )
    show(result, [*(night.line for night in result.nights), *result.lines()])
    return result.exit_code


@app.command()
def serve(audit: AuditName = "nightly") -> None:
    """Run an audit from here every night, until interrupted.

    The nights begin on the schedule of the audit's card.
    """
    from promptaudit.system.prefect_server import apart

    settings, registry = state.load()
    with apart():
        from promptaudit.nightly.serve import serve_nightly
    serve_nightly(settings, registry, audit, state.progress())


@app.command()
def deploy(
    audits: Annotated[
        list[str] | None, typer.Argument(help="Name the cards of audits; the default is nightly.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write a prefect.yaml to this path and deploy nothing.")] = None,
) -> None:
    """Deploy the nights of audits to a Prefect server.

    PREFECT_API_URL names the server, and the cards of the audits have the schedules.
    """
    from promptaudit.system.prefect_server import apart

    _, registry = state.load()
    with apart():
        from promptaudit.nightly.deployments import deploy as deploy_audits
        from promptaudit.nightly.deployments import project_of, write_project
    names = audits or ["nightly"]
    project = project_of(registry, names)  # here, where the paths of cards and data hold
    if output is not None:
        write_project(project, output)
        show(project, [f"written   {output}"])
        return
    with apart():
        deployment = deploy_audits(registry, names, project)
    show(deployment, deployment.lines())


@app.command()
def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="Name the base as RUN, RUN:MODEL, RUN::STRATEGY or RUN:MODEL:STRATEGY, or as a model of the newest run."
        ),
    ],
    candidate: Annotated[str, typer.Argument(help="Name the candidate in the same form.")] = "latest",
    min_effect: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Count no difference smaller than this; the default is the card's."),
    ] = None,
    no_worse: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE|all",
            help="Ask whether the candidate is no worse in this measure, or in all: exit code 0, 1 (worse) or 3 (not known).",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Show every measure, also where nothing differs.")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write the decision and three answers that changed to this file as Markdown."),
    ] = None,
) -> int:
    """Compare two runs, models or strategies, and say what differs.

    A difference is shown where it is larger than chance makes one. A page about the comparison is written.
    """
    from promptaudit.gate.verdict_rules import EXIT_CODES, approve, parse_approval
    from promptaudit.marts.comparison.compare_named import compare_runs
    from promptaudit.report.complete import write_if_possible
    from promptaudit.system.display.encode import encoded

    rule = None if no_worse is None else parse_approval(no_worse)
    settings, registry = state.load()
    comparison = compare_runs(settings, registry, base, candidate, state.progress(), min_effect=min_effect)
    approved = None if rule is None else approve(rule, comparison, base)
    code = 0 if approved is None else EXIT_CODES[approved.outcome]
    if markdown is not None:
        from promptaudit.report.comparison_page.markdown import markdown as as_markdown
        from promptaudit.system.files import SHARED, write_text

        write_text(as_markdown(Warehouse(settings.warehouse), comparison, approved, settings.text), markdown, SHARED)
    if state.as_json:
        page = write_if_possible(Warehouse(settings.warehouse), comparison, settings.text, state.progress())
        known = {} if approved is None else {"approval": encoded(approved)}
        show({**encoded(comparison), **known, "report": None if page is None else str(page)})
        return code
    from promptaudit.marts.comparison.terminal import printed

    show({}, printed(comparison, all_rows=all_), WIDTH)
    page = write_if_possible(Warehouse(settings.warehouse), comparison, settings.text, state.progress())
    show({}, [] if page is None else [f"report     {page}"])
    show({}, [] if approved is None else approved.lines(options=state.options))
    return code


@app.command()
def check(
    run: RunName = "latest",
    junit: Annotated[Path | None, typer.Option(help="Write the outcome to this file as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the outcome to this file as Markdown.")] = None,
) -> int:
    """Check a run against the gate of its audit.

    The exit code is 0 where every rule passes, 1 where a rule fails and 3 where one cannot be measured.
    """
    from promptaudit.gate import formats
    from promptaudit.gate.check import check_named
    from promptaudit.report.terminal.closing import flip_in_words, runbook_lines
    from promptaudit.system.files import SHARED, write_text

    settings, registry = state.load()
    warehouse, result = Warehouse(settings.warehouse), check_named(settings, registry, run)
    if result.exit_code == 1:
        result = replace(result, flip=flip_in_words(warehouse, result.audit_run_id))
    for path, form in ((junit, formats.junit), (markdown, formats.markdown)):
        if path is not None:
            write_text(form(result), path, SHARED)
    show(result, [*result.lines(state.options), *runbook_lines(warehouse, settings, result.exit_code)])
    return result.exit_code


@app.command()
def accept(
    run: RunName,
    reason: Annotated[str, typer.Option(help="Say why the failure is accepted.")],
    until: Annotated[
        str | None,
        typer.Option(help="Waive what fails until then instead; name a day, which is included, or an instant in UTC."),
    ] = None,
    false: Annotated[
        bool,
        typer.Option("--false", help="Say that the alarms came by chance: their nights are as normal as those before."),
    ] = False,
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
) -> None:
    """Accept what a run fails, as the new normal or for a while.

    Its alarms end, and their nights are the new normal. With --until each rule and row that fails is waived until then.
    """
    from promptaudit.gate.accept import end_alarms, waive_run
    from promptaudit.gate.check import rules_of
    from promptaudit.warehouse.run_names import resolve

    names = {"model": model, "task": task, "strategy": strategy}
    if until is None:
        settings = state.settings()
        ended = end_alarms(settings, run, reason, state.progress(), names=names, is_false=false)
        show(ended, ended.lines())
        return
    if false or any(names.values()):
        msg = "--until waives every row that fails: --false, --model, --task and --strategy are for ending alarms"
        raise UsageError(msg)
    settings, registry = state.load()
    rules = rules_of(registry, resolve(Warehouse(settings.warehouse), run).audit_id)
    result = waive_run(settings, run, reason, until, state.progress(), **rules)
    show(result, result.lines())


@app.command()
def pin(
    run: RunName,
    name: Annotated[str, typer.Argument(help="Name the baseline; another pin of that name moves it.")],
    reason: Annotated[str | None, typer.Option(help="Say why the run is pinned.")] = None,
) -> None:
    """Pin a run as the baseline of later nights.

    Later nights of what it asked are held against it alone, until `accept` or another pin.
    """
    from promptaudit.gate.accept import pin_run

    settings = state.settings()
    result = pin_run(settings, run, name, reason, state.progress())
    show(result, result.lines())


@app.command()
def history(
    measure: Annotated[
        str, typer.Argument(help="Name a column of the scorecard, accuracy:<scoring method>, or a measure of nights.")
    ] = "sensitivity",
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
    audit: Annotated[str | None, typer.Option(help="Name the audit; the default is that of the newest run.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many nights.")] = 30,
) -> None:
    """Show a measure over the nights.

    Each series has a table and a sparkline.
    """
    from promptaudit.query.history.measure import history as history_of
    from promptaudit.query.history.terminal import renderables_of

    settings = state.settings()
    nights = history_of(
        Warehouse(settings.warehouse), measure, audit=audit, model=model, task=task, strategy=strategy, limit=limit
    )
    show(nights, renderables_of(nights), WIDTH)
