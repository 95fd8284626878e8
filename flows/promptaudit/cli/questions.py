"""Commands that look at runs, or add what people say of them: sql, report, export, view, annotate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from promptaudit.cli.app import NewestRun, app, show, show_closing, state
from promptaudit.registry.errors import UsageError, refuse_unknown

if TYPE_CHECKING:
    from promptaudit.report import Form


@app.command()
def sql(
    query: Annotated[str | None, typer.Argument(help="Ask this one SQL query.")] = None,
    analysis: Annotated[str | None, typer.Option(help="Ask a query that ships by its name.")] = None,
    print_: Annotated[
        bool,
        typer.Option(
            "--print", help="Show the SQL of --analysis and ask nothing: it is a beginning for a query of your own."
        ),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the queries that ship by what they are about.")] = False,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="Choose how the rows are written: table, csv or json. In csv a text that begins with = stays as it is, and a "
            "spreadsheet may take it for a formula.",
        ),
    ] = "table",
) -> None:
    """Ask the published tables a query in SQL.

    The query reads no files and no network, and its memory and time are limited.
    """
    from promptaudit.query.analyses import analyses, listing
    from promptaudit.query.analyses import analysis as shipped
    from promptaudit.query.sql import FORMATS, ask

    if sum((query is not None, analysis is not None, list_)) != 1:
        msg = "give one of a query, --analysis and --list"
        raise UsageError(msg)
    if print_ and analysis is None:
        msg = "--print shows the SQL of --analysis NAME"
        raise UsageError(msg)
    refuse_unknown("--format", format_, FORMATS)
    if list_:
        show(analyses(), [listing()])
        return
    text = query or "" if analysis is None else shipped(analysis)
    if print_:
        show({"sql": text}, [text.rstrip()])
        return
    settings = state.settings()
    ask(settings, text, "json" if state.as_json else format_, sys.stdout)


@app.command()
def report(
    audit_run_id: NewestRun = None,
    format_: Annotated[
        str, typer.Option("--format", help="Choose html, md (for a chat) or csv (one line a figure).")
    ] = "html",
    text: Annotated[
        str | None,
        typer.Option(
            help="Choose how much of inputs, completions and prompts is written: none, excerpt (300 characters) or full (20,000 "
            "characters, 2 MB in all). The default is excerpt, and none of tasks marked sensitive."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file. The default is report.html beside the published copy, and stdout for md and csv."
        ),
    ] = None,
    charts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the charts of the papers' figures of this run into this folder instead, as SVG and PNG, with their "
            "data as CSV and tables across tasks as CSV and LaTeX.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION",
            help="With --charts, write this section of the page alone, named by its anchor; the option may be repeated.",
        ),
    ] = None,
) -> None:
    """Write the report of a published run again.

    It is written as a page, as Markdown, as CSV, or as files of its charts.
    """
    from promptaudit.report import FORMS, charts_of, report_as
    from promptaudit.report import report as write_report
    from promptaudit.report.complete import held_if_free, refuse_erasing
    from promptaudit.system.display.policy import policy_of
    from promptaudit.system.files import SHARED, write_text
    from promptaudit.warehouse import Warehouse
    from promptaudit.warehouse.run_names import resolve_id

    refuse_unknown("--format", format_, FORMS)
    form = cast("Form", format_)
    policy, settings = policy_of(text), state.settings()
    if only and charts is None:
        msg = "--only goes with --charts, the folder that the figures are written into"
        raise UsageError(msg)
    if charts is not None:
        run = resolve_id(Warehouse(settings.warehouse), audit_run_id)
        files = charts_of(Warehouse(settings.warehouse), run, charts, only or ())
        n_charts, n_tables = (sum(path.suffix == ending for path in files) for ending in (".svg", ".tex"))
        tables = f"; {n_tables} tables, each as CSV and LaTeX" if n_tables else ""
        lines = [f"{n_charts} charts in {charts}, each as SVG, PDF, PNG and CSV{tables}"]
        show({"charts": list(map(str, files))}, lines)
        return
    if form == "html" and output is None:
        with held_if_free(Warehouse(settings.warehouse), state.progress()) as is_held:
            warn = state.progress().warn
            run = resolve_id(Warehouse(settings.warehouse), audit_run_id)
            refuse_erasing(Warehouse(settings.warehouse), run)
            path = write_report(Warehouse(settings.warehouse), run, policy, is_held=is_held, warn=warn)
        show({"report": str(path)}, [str(path)])
        show_closing(Warehouse(settings.warehouse), run)
        return
    run = resolve_id(Warehouse(settings.warehouse), audit_run_id)
    text = report_as(Warehouse(settings.warehouse), run, form, policy)
    if output is not None:
        write_text(text, output, SHARED)
        show({"report": str(output)}, [str(output)])
    else:
        show({"report": None, form: text}, [text.rstrip("\n")])


@app.command()
def export(
    audit_run_id: NewestRun = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="Choose parquet (one flat file, which import reads back) or hf (a folder that datasets.load_dataset opens).",
        ),
    ] = "parquet",
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write into this folder, which is new or empty; the default is export-RUN-FORMAT."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Choose how much of inputs, completions and prompts is written: none or full. The default is full, and none "
            "of tasks marked sensitive."
        ),
    ] = None,
) -> None:
    """Write the answers of a run to files for other programs.

    The answers come with their prompts, labels and gold labels.
    """
    from promptaudit.prompts.as_sent import OTHERWISE
    from promptaudit.query.export_run import export_run

    exported = export_run(state.settings(), audit_run_id, format_, to, state.text(text))
    lines = [f"{exported.n_rows} answers of run {exported.audit_run_id} in {exported.path}"]
    if exported.left_out:
        lines.append(f"without the texts of {', '.join(exported.left_out)}; --text full writes them")
    if exported.n_otherwise:
        lines.append(f"without the messages of {exported.n_otherwise} answers: {OTHERWISE}")
    show(exported, lines)


@app.command()
def view(
    host: Annotated[
        str, typer.Option(help="Listen at this address; elsewhere than on loopback a login is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen on this port; 0 takes a free one.")] = 4300,
    browser: Annotated[bool, typer.Option(help="Show the index in a browser.")] = True,
    flows: Annotated[
        bool,
        typer.Option(
            "--flows", help="Serve Prefect's pages instead, about the runs that had no other server than their own."
        ),
    ] = False,
) -> None:
    """Serve the reports of all runs to your browser, until interrupted.

    An index of the runs, their pages and the published copy are served, and nothing can be changed.
    """
    if flows:
        if (host, port) != ("127.0.0.1", 4300):
            msg = "--flows serves on a free port of loopback: it takes neither --host nor --port"
            raise UsageError(msg)
        from promptaudit.system.prefect_server import show_flow_runs
        from promptaudit.warehouse import Warehouse

        show_flow_runs(Warehouse(state.settings().warehouse).places.prefect, state.progress())
        return
    from promptaudit.report.view import view as serve_pages

    serve_pages(state.settings(), state.progress(), host=host, port=port, opens=browser)


@app.command()
def annotate(
    audit_run_id: NewestRun = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a blinded sheet to this CSV file, for a person to fill in.")
    ] = None,
    take: Annotated[Path | None, typer.Option(help="Take the rulings of this filled-in sheet as verdicts.")] = None,
    annotator: Annotated[
        str | None,
        typer.Option(help="With --take, name the person who ruled, unless the sheet has a column 'annotator'."),
    ] = None,
    answers: Annotated[
        int | None, typer.Option(min=1, help="With --sheet, draw this many answers; the default is 100.")
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --sheet, draw this many questions of a task, with all answers to them, instead."
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=0.5,
            help="With --sheet, draw as many answers as are needed to know rectified accuracies within plus or minus this.",
        ),
    ] = None,
    wordings: Annotated[
        bool,
        typer.Option(
            "--wordings", help="With --sheet, write the rewordings of the prompts instead, beside the original."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="With --sheet, seed the draw with this number.")] = 42,
    task: Annotated[
        str | None, typer.Option(help="With --sheet, draw answers to this task alone; the default is every task.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --sheet, replace an existing file.")] = False,
) -> None:
    """Have people rule on answers or on rewordings, beside the judges.

    Write a sheet, fill in its column is_match with yes or no, and take it back.

    In a sheet, a cell that a spreadsheet would take for a formula begins with an apostrophe that is not part of the answer.
    """
    from promptaudit.exchange.annotation.take_sheet import take_sheet
    from promptaudit.exchange.annotation.write_sheet import write_sheet, write_wordings

    settings = state.settings()
    given = {"--answers": answers, "--questions": questions, "--width": width, "--wordings": wordings or None}
    if len(ways := [name for name, value in given.items() if value is not None]) > 1:
        msg = f"{' and '.join(ways)} each choose what is written: give one of them"
        raise UsageError(msg)
    if sheet is not None and take is None and wordings:
        written = write_wordings(settings, audit_run_id, sheet, task=task, force=force)
        show(written, written.lines())
    elif sheet is not None and take is None:
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
        show(written, written.lines())
    elif take is not None and sheet is None:
        taken = take_sheet(settings, audit_run_id, take, annotator, state.progress())
        show(taken, taken.lines())
    else:
        msg = "annotate writes a sheet or takes one in: give one of --sheet and --take"
        raise UsageError(msg)
