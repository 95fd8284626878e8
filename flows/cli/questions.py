"""Commands that look at runs, or add what people say of them: sql, report, export, view, annotate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from promptaudit.flows.cli.app import app, show, show_closing, state
from promptaudit.models_registry.errors import UsageError, nearest


@app.command()
def sql(
    query: Annotated[str | None, typer.Argument(help="One SQL query over the published copy.")] = None,
    analysis: Annotated[str | None, typer.Option(help="Ask a query that ships, by its name.")] = None,
    print_: Annotated[
        bool,
        typer.Option(
            "--print", help="Show the SQL of --analysis and ask nothing: a beginning for a query of one's own."
        ),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the queries that ship, by what they are about.")] = False,
    format_: Annotated[
        str, typer.Option("--format", envvar="PROMPTAUDIT_FORMAT", help="table, csv or json.")
    ] = "table",
) -> None:
    """Run a query on the published copy, without files or network and with limited memory and time."""
    from promptaudit.flows.query.analyses import analyses, listing
    from promptaudit.flows.query.analyses import analysis as shipped
    from promptaudit.flows.query.sql import FORMATS, ask

    if sum((query is not None, analysis is not None, list_)) != 1:
        msg = "give one of a query, --analysis and --list"
        raise UsageError(msg)
    if print_ and analysis is None:
        msg = "--print shows the SQL of --analysis NAME"
        raise UsageError(msg)
    if format_ not in FORMATS:
        msg = f"--format {format_}{nearest(format_, FORMATS)}"
        raise UsageError(msg)
    if list_:
        show(analyses(), listing())
        return
    text = query or "" if analysis is None else shipped(analysis)
    if print_:
        show({"sql": text}, text.rstrip())
        return
    settings = state.settings()
    ask(settings, text, "json" if state.as_json else format_, sys.stdout)


@app.command()
def report(
    audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: the newest.")] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format", envvar="PROMPTAUDIT_REPORT_FORMAT", help="html, md (for chat) or csv (one line a figure)."
        ),
    ] = "html",
    text: Annotated[
        str | None,
        typer.Option(
            envvar="PROMPTAUDIT_TEXT",
            help="Inputs, completions and prompts: none, excerpt (300 characters) or full (20,000, 2 MB in all); default: "
            "excerpt, none of tasks marked sensitive.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            envvar="PROMPTAUDIT_REPORT_OUTPUT",
            help="The file; default: report.html beside the published copy, stdout for md and csv.",
        ),
    ] = None,
    charts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Instead write the papers' figures of this run into this folder, all tasks in one: SVG, PNG, data as CSV; and "
            "tables across tasks as CSV and LaTeX.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION", help="Of --charts: this section of the page alone, by its anchor; may be repeated."
        ),
    ] = None,
) -> None:
    """Report on a published run again: as a page, as Markdown, as CSV, or as files of its charts."""
    from promptaudit.flows.display.policy import policy_of
    from promptaudit.flows.report import FORMS, charts_of, report_as
    from promptaudit.flows.report import report as write_report
    from promptaudit.flows.report.record import held_if_free
    from promptaudit.flows.system.files import SHARED, write_text
    from promptaudit.flows.warehouse import Warehouse
    from promptaudit.flows.warehouse.run_names import resolve_id

    form = next((known for known in FORMS if known == format_), None)
    if form is None:
        msg = f"--format {format_}{nearest(format_, FORMS)}"
        raise UsageError(msg)
    policy, settings = policy_of(text), state.settings()
    run = resolve_id(Warehouse(settings.warehouse), audit_run_id)
    if only and charts is None:
        msg = "--only goes with --charts, the folder that the figures are written into"
        raise UsageError(msg)
    if charts is not None:
        files = charts_of(Warehouse(settings.warehouse), run, charts, only or ())
        n_charts, n_tables = (sum(path.suffix == ending for path in files) for ending in (".svg", ".tex"))
        tables = f"; {n_tables} tables, each as CSV and LaTeX" if n_tables else ""
        show({"charts": list(map(str, files))}, f"{n_charts} figures in {charts}, each as SVG, PNG and CSV{tables}")
        return
    if form == "html" and output is None:
        with held_if_free(Warehouse(settings.warehouse), state.progress()) as is_held:
            warn = state.progress().warn
            path = write_report(Warehouse(settings.warehouse), run, policy, is_held=is_held, warn=warn)
        show({"report": str(path)}, str(path))
        show_closing(Warehouse(settings.warehouse), run)
        return
    text = report_as(Warehouse(settings.warehouse), run, form, policy)
    if output is not None:
        write_text(text, output, SHARED)
        show({"report": str(output)}, str(output))
    else:
        show({"report": None, form: text}, text.rstrip("\n"))


@app.command()
def export(
    audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: the newest.")] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            envvar="PROMPTAUDIT_EXPORT_FORMAT",
            help="parquet (one flat file, which import reads back), hf (a folder that datasets.load_dataset opens) or dove "
            "(rows of the DOVE dataset).",
        ),
    ] = "parquet",
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A new or empty folder; default: export-RUN-FORMAT.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            envvar="PROMPTAUDIT_TEXT",
            help="Inputs, completions and prompts: none, or full; default: full, none of tasks marked sensitive.",
        ),
    ] = None,
) -> None:
    """Write the answers of a published run, with prompts, labels and gold, for other programs."""
    from promptaudit.flows.prompts.as_sent import OTHERWISE
    from promptaudit.flows.query.export_run import export_run

    exported = export_run(state.settings(), audit_run_id, format_, to, text)
    lines = f"{exported.n_rows} answers of run {exported.audit_run_id} in {exported.path}"
    if exported.n_without:
        lines += f"\n{exported.n_without} answers have no text here, or nothing says what is right, and are no rows of {format_}"
    if exported.left_out:
        lines += f"\nwithout the texts of {', '.join(exported.left_out)}; --text full writes them"
    if exported.n_otherwise:
        lines += f"\nwithout the messages of {exported.n_otherwise} answers: {OTHERWISE}"
    show(exported, lines)


@app.command()
def view(
    host: Annotated[
        str,
        typer.Option(envvar="PROMPTAUDIT_VIEW_HOST", help="Where it listens; elsewhere than on loopback with a login."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, envvar="PROMPTAUDIT_VIEW_PORT", help="The port; 0 takes a free one.")
    ] = 4300,
    browser: Annotated[
        bool, typer.Option(envvar="PROMPTAUDIT_VIEW_BROWSER", help="Show the index in a browser.")
    ] = True,
    flows: Annotated[
        bool, typer.Option("--flows", help="Serve Prefect's own pages about the runs of its own servers instead.")
    ] = False,
) -> None:
    """Serve the index of runs, their pages and the published copy, read-only, until interrupted."""
    if flows:
        if (host, port) != ("127.0.0.1", 4300):
            msg = "--flows serves on a free port of loopback: it takes neither --host nor --port"
            raise UsageError(msg)
        from promptaudit.flows.system.prefect_server import show_flow_runs
        from promptaudit.flows.warehouse import Warehouse

        show_flow_runs(Warehouse(state.settings().warehouse).places.prefect, state.progress())
        return
    from promptaudit.flows.report.view import view as serve_pages

    serve_pages(state.settings(), state.progress(), host=host, port=port, opens=browser)


@app.command()
def annotate(
    audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: the newest.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a blinded sheet to fill in: a CSV file.")] = None,
    take: Annotated[Path | None, typer.Option(help="Read the rulings of a filled-in sheet as verdicts.")] = None,
    annotator: Annotated[
        str | None,
        typer.Option(
            envvar="PROMPTAUDIT_ANNOTATOR", help="--take: the person who ruled; or the sheet has a column 'annotator'."
        ),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(min=1, envvar="PROMPTAUDIT_ANSWERS", help="--sheet: the number of answers; default: 100."),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            min=1, envvar="PROMPTAUDIT_QUESTIONS", help="--sheet: all answers to so many questions of a task instead."
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=0.5,
            envvar="PROMPTAUDIT_WIDTH",
            help="--sheet: as many answers as rectified accuracies need to be known within so much, both ways.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(envvar="PROMPTAUDIT_SEED", help="--sheet: seed of the sample.")] = 42,
    task: Annotated[
        str | None, typer.Option(envvar="PROMPTAUDIT_TASK", help="--sheet: answers to one task; default: to all.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="--sheet: replace an existing file.")] = False,
) -> None:
    """Have people rule on answers, beside the judges: write a sheet, fill is_match in with yes or no, and read it back.

    In a sheet, a cell that a spreadsheet would take for a formula begins with an apostrophe that is not part of the answer.
    """
    from promptaudit.flows.annotation.take_sheet import take_sheet
    from promptaudit.flows.annotation.terminal import lines_of_sheet, lines_of_taken
    from promptaudit.flows.annotation.write_sheet import write_sheet

    settings = state.settings()
    given = {"--answers": answers, "--questions": questions, "--width": width}
    if len(ways := [name for name, value in given.items() if value is not None]) > 1:
        msg = f"{' and '.join(ways)} choose in {'two' if len(ways) == 2 else 'three'} ways: give one of them"  # noqa: PLR2004
        raise UsageError(msg)
    if sheet is not None and take is None:
        written = write_sheet(
            settings,
            audit_run_id,
            sheet,
            n=answers or 100,
            questions=questions,
            width=width,
            seed=seed,
            task=task,
            force=force,
        )
        show(written, "\n".join(lines_of_sheet(written)))
    elif take is not None and sheet is None:
        taken = take_sheet(settings, audit_run_id, take, annotator, state.progress())
        show(taken, "\n".join(lines_of_taken(taken)))
    else:
        msg = "annotate writes a sheet or takes one in: give one of --sheet and --take"
        raise UsageError(msg)
