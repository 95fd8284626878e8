"""Commands of the nightly audit: nightly, serve, deploy, compare, check, accept, pin, history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from promptaudit.flows.cli.app import (
    AuditName,
    MaxUsd,
    ModelOption,
    RunName,
    StrategyOption,
    TaskOption,
    app,
    console,
    show,
    show_closing,
    state,
)
from promptaudit.flows.warehouse import Warehouse
from promptaudit.models_registry.errors import UsageError

WIDTH = 130  # of a table that no terminal shows


@app.command()
def nightly(
    audit: AuditName = "nightly",
    new: Annotated[
        bool,
        typer.Option("--new", envvar="PROMPTAUDIT_NEW", help="Begin another night, even if the last one is recent."),
    ] = False,
    max_usd: MaxUsd = None,
) -> int:
    """Continue or start tonight's run, hold it against normal nights, check its gate, report, and send messages."""
    from promptaudit.flows.nightly.night import night
    from promptaudit.flows.nightly.terminal import lines_of
    from promptaudit.flows.settings import registry_of

    settings = state.settings()
    result = night(settings, lambda: registry_of(settings), audit, state.progress(), new=new, max_usd=max_usd)
    show(result, "\n".join(lines_of(result)))
    show_closing(Warehouse(settings.warehouse), result.audit_run_id)
    return result.exit_code


@app.command()
def serve(audit: AuditName = "nightly") -> None:
    """Serve the nightly flow of an audit on its card's schedule, until interrupted."""
    from promptaudit.flows.system.prefect_server import apart

    settings, registry = state.load()
    with apart():
        from promptaudit.flows.nightly.serve import serve_nightly
    serve_nightly(settings, registry, audit, state.progress())


@app.command()
def deploy(
    audits: Annotated[list[str] | None, typer.Argument(help="Audit cards; default: nightly.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(envvar="PROMPTAUDIT_DEPLOY_OUTPUT", help="Write a prefect.yaml instead, and deploy nothing."),
    ] = None,
) -> None:
    """Deploy the nights of audits to the Prefect server of PREFECT_API_URL, on their cards' schedules."""
    from promptaudit.flows.system.prefect_server import apart

    _, registry = state.load()
    with apart():
        from promptaudit.flows.nightly.deployments import deploy as deploy_audits
        from promptaudit.flows.nightly.deployments import project_of, write_project
        from promptaudit.flows.nightly.terminal import lines_of_deployment
    names = audits or ["nightly"]
    if output is not None:
        write_project(registry, names, output)
        show(project_of(registry, names), f"written   {output}")
        return
    with apart():
        deployment = deploy_audits(registry, names)
    show(deployment, "\n".join(lines_of_deployment(deployment)))


@app.command()
def compare(
    base: Annotated[str, typer.Argument(help="The base: RUN, RUN:MODEL, or a model of the newest run.")],
    candidate: Annotated[str, typer.Argument(help="The candidate, in the same form.")] = "latest",
    min_effect: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, envvar="PROMPTAUDIT_MIN_EFFECT", help="Smallest difference that counts; default: the card's."
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(min=100, max=100_000, envvar="PROMPTAUDIT_RESAMPLES", help="Number of exchanges for each test."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Show every measure, not only those that differ.")] = False,
) -> None:
    """Compare two runs or two models: show what differs by more than chance, and why, and write a page about it."""
    from promptaudit.flows.comparison.compare_named import compare_runs
    from promptaudit.flows.display.encode import encoded
    from promptaudit.flows.report.comparison_page.page import write_if_possible

    settings, registry = state.load()
    comparison = compare_runs(
        settings, registry, base, candidate, state.progress(), min_effect=min_effect, resamples=resamples
    )
    if state.as_json:
        page = write_if_possible(Warehouse(settings.warehouse), comparison, settings.text, state.progress())
        show({**encoded(comparison), "report": None if page is None else str(page)})
        return
    from promptaudit.flows.comparison.terminal import closing_lines, opening_lines, table_of

    table = table_of(comparison, all_rows=all_)
    show({}, "\n".join(opening_lines(comparison)))
    if table is not None:
        console(WIDTH).print(table)
    show({}, "\n".join(closing_lines(comparison)))
    page = write_if_possible(Warehouse(settings.warehouse), comparison, settings.text, state.progress())
    if page is not None:
        show({}, f"report     {page}")


@app.command()
def check(
    run: RunName = "latest",
    junit: Annotated[
        Path | None, typer.Option(envvar="PROMPTAUDIT_JUNIT", help="Write the outcome as JUnit XML.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(envvar="PROMPTAUDIT_MARKDOWN", help="Write the outcome as Markdown.")
    ] = None,
) -> int:
    """Check a run against its audit's gate: exit code 0, 1 (a rule failed) or 3 (one could not be measured)."""
    from promptaudit.flows.gate.check_named import check_named
    from promptaudit.flows.gate.formats import write_junit, write_markdown
    from promptaudit.flows.gate.terminal import lines_of
    from promptaudit.flows.report.terminal.closing import flip_in_words

    settings, registry = state.load()
    result = check_named(settings, registry, run)
    if result.exit_code == 1:
        result = replace(result, flip=flip_in_words(Warehouse(settings.warehouse), result.audit_run_id))
    if junit is not None:
        write_junit(result, junit)
    if markdown is not None:
        write_markdown(result, markdown)
    show(result, "\n".join(lines_of(result)))
    return result.exit_code


@app.command()
def accept(
    run: RunName,
    reason: Annotated[str, typer.Option(help="Why the failure is accepted.")],
    until: Annotated[
        str | None,
        typer.Option(help="Waive what fails until then instead: a day, which is included, or an instant in UTC."),
    ] = None,
    false: Annotated[
        bool, typer.Option("--false", help="The alarms were of chance: their nights are as normal as those before.")
    ] = False,
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
) -> None:
    """Accept what a run fails: end its alarms, whose nights are the new normal, or waive each failed rule and row for a while."""
    from promptaudit.flows.gate.accept import waive_run
    from promptaudit.flows.gate.check_named import rules_of
    from promptaudit.flows.gate.end_alarms import end_alarms
    from promptaudit.flows.gate.terminal import lines_of_accepted, lines_of_ended
    from promptaudit.flows.warehouse.run_names import resolve

    chosen = {"model_id": model, "task_id": task, "strategy": strategy}
    if until is None:
        settings = state.settings()
        ended = end_alarms(settings, run, reason, state.progress(), chosen=chosen, is_false=false)
        show(ended, "\n".join(lines_of_ended(ended)))
        return
    if false or any(chosen.values()):
        msg = "--until waives every row that fails: --false, --model, --task and --strategy are for ending alarms"
        raise UsageError(msg)
    settings, registry = state.load()
    rules = rules_of(registry, resolve(Warehouse(settings.warehouse), run).audit_id)
    result = waive_run(settings, run, reason, until, state.progress(), **rules)
    show(result, "\n".join(lines_of_accepted(result)))


@app.command()
def pin(
    run: RunName,
    name: Annotated[str, typer.Argument(help="The baseline's name; pinning it again moves it.")],
    reason: Annotated[str | None, typer.Option(help="Why it is pinned.")] = None,
) -> None:
    """Pin a run as a baseline: later nights of what it asked are held against it alone, until `accept` or another pin."""
    from promptaudit.flows.gate.accept import pin_run
    from promptaudit.flows.gate.terminal import lines_of_pin

    settings = state.settings()
    result = pin_run(settings, run, name, reason, state.progress())
    show(result, "\n".join(lines_of_pin(result)))


@app.command()
def history(
    measure: Annotated[
        str, typer.Argument(help="A column of the scorecard, accuracy:<scoring method>, or a measure of nights.")
    ],
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
    audit: Annotated[
        str | None, typer.Option(envvar="PROMPTAUDIT_AUDIT", help="An audit; default: the newest run's.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, envvar="PROMPTAUDIT_LIMIT", help="The most nights to show.")] = 30,
) -> None:
    """Show a measure over the nights: a table and a sparkline for each series."""
    from promptaudit.flows.history.measure import history as history_of
    from promptaudit.flows.history.terminal import renderables_of

    settings = state.settings()
    nights = history_of(
        Warehouse(settings.warehouse), measure, audit=audit, model=model, task=task, strategy=strategy, limit=limit
    )
    if state.as_json:
        show(nights)
        return
    from rich.console import Group

    console(WIDTH).print(Group(*renderables_of(nights)))
