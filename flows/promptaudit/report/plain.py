"""Writes the report without a page: as Markdown for chat, as CSV for spreadsheets."""

from __future__ import annotations

import io
from collections.abc import Iterator

from promptaudit.registry.mart_columns import MartColumn, compact_measures, scorecard_columns
from promptaudit.report.blocks.blocks import DrawnSection, Table
from promptaudit.report.blocks.cells import Cell, Printed, Traced, cells_of, parts, plain
from promptaudit.report.charts.drawing import undrawn
from promptaudit.report.data import ReportData
from promptaudit.report.page import scope, sections
from promptaudit.report.sections.nights import format_gate
from promptaudit.report.summary import Summary
from promptaudit.system.display.figures import NAME, cut, shown, when
from promptaudit.system.display.markdown import cell, code, table
from promptaudit.system.display.spreadsheet import CsvRows, number_or_cell
from promptaudit.warehouse.figure_names import grains, parse_figure

MOST_LINES = 8  # of a table, in chat
MOST_FINDINGS = 8
MOST_SCORECARD = 1000  # rows that are figures in CSV
COLUMNS = ("figure", "run", "model", "task", "strategy", "of", "measure", "value", "low", "high")
_NAMED = ("audit_run_id", "model_id", "task_id", "strategy")


def markdown(data: ReportData) -> str:
    """Writes the verdict, changes, format checks, a compact scorecard and a table per section as Markdown.

    Names stand in code spans.
    """
    run = data.run
    lines = [f"## {code(cut(run['audit_id'], NAME))}", ""]
    lines += [f"{code(run['origin'])} of {when(run['started_at'])}, run {code(run['audit_run_id'])}", ""]
    if seal := run.get("seal"):
        lines += [f"Seal {code(seal)}", ""]
    # a sentence may hold a name
    lines += [f"- {_sentence(sentence)}" for sentence in (*opening(data.summary), *scope(data))]
    lines += ["", "### Scorecard", ""]
    shown_rows = [_score(Traced("rpt_audit", row)) for row in data.scorecard[:MOST_LINES]]
    headings = ["Model", "Task", "Strategy", "Samples × variants", *(own.label for own in compact_measures()), "Trace"]
    scores = [*table(headings, shown_rows, 1 + len(compact_measures())), *_rest(len(data.scorecard))]
    lines += [*(scores if shown_rows else ["No figures yet."]), ""]
    with undrawn():
        content = sections(data)
    n_changes = 1 if data.changes else 0
    for section in (*content.first, *content.others[:n_changes], format_gate.drawn(data), *content.others[n_changes:]):
        lines += _section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def opening(summary: Summary) -> list[str]:
    """Lists sentences on the outcome, the changes, the worst group and the next command."""
    outcome = summary.outcome
    lines = [f"Not read: {sentence}." for sentence in summary.first]
    lines += [f"{outcome.word}: {outcome.reason}", *outcome.rules, *(cause.sentence for cause in summary.causes)]
    lines += [f"Readers differ: {sentence}." for sentence in summary.read_differently]
    lines += [f"Breaks: {sentence}." for sentence in summary.breaking]
    if summary.worst is not None:
        lines.append(f"Worst: {summary.worst.group}, {summary.worst.label} {summary.worst.printed}.")
    if summary.better is not None:
        lines.append(f"Better: {summary.better}.")
    return [*lines, f"Next: {summary.next_command}"]


def _score(of: Traced) -> list[str]:
    names = (code(cut(of.row[name], NAME)) for name in ("model_id", "task_id", "strategy"))
    size = f"{plain(of.samples())} × {of.count('n_variants')}"
    figures = (plain(_figure(of, column)) for column in compact_measures())
    return [*names, cell(size), *map(cell, figures), code(of.number("sensitivity").row)]


def _figure(of: Traced, column: MartColumn) -> Printed:
    figure = of.measure(column.name)
    bounds = of.bounds(column.estimate) if column.compact == "interval" else ""
    if not bounds:
        return figure
    beside = () if column.estimate == column.name else (" (", of.measure(column.estimate), ")")
    return (figure, *beside, " ", *parts(bounds))


def _section(section: DrawnSection) -> list[str]:
    # a heading, the findings, and the first table of each task
    lines: list[str] = []
    for block in section.blocks:
        tables = [own for own in block.tables if own.rows][:1]
        if not (block.findings or tables):
            continue
        lines += [f"#### {code(cut(block.task_id, NAME))}", ""] if block.task_id else []
        lines += [f"- {_sentence(phrase)}: {_sentence(who)}" for phrase, who in block.findings[:MOST_FINDINGS]]
        lines += [""] if block.findings else []
        for own in tables:
            lines += [f"{_sentence(own.caption)}:", "", *_table(own), ""]
    return [f"### {section.title}", "", *lines] if lines else []


def _table(own: Table) -> list[str]:
    columns = [cell(column) for column in own.columns]
    rows = [[_cell(printed) for printed in row] for row in own.rows[:MOST_LINES]]
    return [*table(columns, rows, own.n_figures), *_rest(len(own.rows))]


def _cell(printed: Printed) -> str:
    # the best figures are in bold, if the cell's text is plain enough for that
    words = shown(plain(printed))
    whole, of_it = cell(words), parts(printed)
    if whole != words or not any(isinstance(part, Cell) and part.is_strong for part in of_it):
        return whole
    return "".join(f"**{part}**" if isinstance(part, Cell) and part.is_strong else str(part) for part in of_it)


def _rest(n: int) -> list[str]:
    return ["", f"The first {MOST_LINES} of {n:,} rows."] if n > MOST_LINES else []


def _sentence(text: str) -> str:
    # a sentence of ours may hold names, so it is escaped unless it is plain
    whole = text.rstrip(".;")
    return cell(whole) + text[len(whole) :]


def figures_csv(data: ReportData) -> str:
    """Writes a line per figure of the scorecard and of the sections' tables and notes, each once.

    Figures have full precision; NULL is empty. `of` holds the further columns that identify the row (`gold_label=red;
    …`), `measure` is mart and column. Invisible characters in names are written out, and a name that a spreadsheet
    would take for a formula gets an apostrophe before it.
    """
    with undrawn():
        content = sections(data)
    out = io.StringIO()
    rows = CsvRows(out)
    rows.row(COLUMNS)
    blocks = [block for section in (*content.first, *content.others) for block in section.blocks]
    tables = [own for block in blocks for own in block.tables]
    notes = [(note,) for block in blocks for note in block.notes]
    comparisons = [each for section in content.first for block in section.blocks for each in block.comparisons]
    compared = [(value, below, *each["vouching"]) for each in comparisons for value, below in each["figures"]]
    seen: set[str] = set()
    for figure in _figures(data, [row for own in tables for row in own.rows] + notes + compared):
        if figure.figure not in seen:
            seen.add(figure.figure)
            rows.row(_line(figure))
    return out.getvalue()


def _figures(data: ReportData, rows: list[tuple[Printed, ...]]) -> Iterator[Cell]:
    # the ends of an interval stand in the line of their figure
    for row in data.scorecard[:MOST_SCORECARD]:
        of = Traced("rpt_audit", row)
        yield from (of.measure(column.name) for column in scorecard_columns() if column.name in row)
    for printed in rows:
        for figure in cells_of(printed):
            _, column, _ = parse_figure(figure.figure)
            stem = (column or "").removesuffix("_low").removesuffix("_high")
            if figure.source and (stem == column or stem not in figure.source):
                yield figure


def _line(figure: Cell) -> list[str]:
    mart, column, _ = parse_figure(figure.figure)
    source = figure.source
    rest = "; ".join(
        f"{name}={'' if source[name] is None else source[name]}" for name in grains()[mart] if name not in _NAMED
    )
    named = (source.get(name) for name in _NAMED)
    names = (number_or_cell(shown("" if name is None else str(name))) for name in named)
    ends = (source.get(f"{column}_{end}") for end in ("low", "high"))
    values = (Cell("", figure.figure, value).exact for value in (figure.value, *ends))
    return [figure.figure, *names, number_or_cell(shown(rest)), f"{mart}.{column}", *values]
