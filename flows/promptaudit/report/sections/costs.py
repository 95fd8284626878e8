"""The section on what the answers took: tokens, money, time and tries."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Cell, Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, counted, figure, table, tally
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.reasons import why_no_answers
from promptaudit.report.sections.room import Chart, Drawn, Room, colour, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, count, cut, milliseconds, number, usd
from promptaudit.warehouse import Row

MART = "rpt_answer_totals"


def _milliseconds(of: Traced, name: str) -> Cell:
    return of.cell(name, milliseconds(of.row[name]))


def _is_partly_priced(row: Row) -> bool:
    return bool(0 < row["n_priced"] < row["n_answers"])


def _cost(of: Traced, name: str) -> Cell:
    return of.cell(name, usd(of.row[name]) + (" *" if _is_partly_priced(of.row) else ""))


_COLUMNS = (
    MODEL,
    STRATEGY,
    counted("Answers", "n_answers"),
    counted("Prompt tokens", "prompt_tokens"),
    counted("Completion tokens", "completion_tokens"),
    figure("Cost", "cost_usd", _cost),
    figure("Latency, median", "latency_p50_ms", _milliseconds),
    figure("95 %", "latency_p95_ms", _milliseconds),
    figure("Tries, mean", "attempts_mean", lambda of, name: of.number(name, 2)),
    counted("most", "attempts_max"),
    counted("Tried again", "n_retried"),
    counted("Errors", "n_error"),
)
_FAILED = (
    MODEL,
    Column("HTTP status", lambda of: "none" if of.row["http_status"] is None else str(of.row["http_status"])),
    tally("Failed tries", "n_failed"),
    tally("Requests", "n_requests"),
    Column("Waited before the next, s", lambda of: number(of.row["waited_s"], 1), is_figure=True),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of, failed_of = by(data["answer_totals"], "task_id"), by(data["attempts"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows, failed = rows_of.get(task_id), failed_of.get(task_id)
        if not rows:
            block.absent.append(why_no_answers(scored) or "No answer has landed yet.")
            continue
        timed = [row for row in rows if row["n_timed"]]
        if timed:
            shown = colour(block, timed)
            room.draw(block, [Chart("Latency", "by model", partial(_ranges, timed, shown, cut(task_id, NAME)))])
        else:
            block.absent.append("No answer of this task has a latency.")
        note = (
            "* This is the cost of only those answers whose price is known."
            if any(map(_is_partly_priced, rows))
            else ""
        )
        block.tables.append(table("What answers took", _COLUMNS, rows, MART, note=note, most=room.n_rows))
        if failed:
            block.tables.append(table("Tries that failed", _FAILED, failed, most=room.n_rows))
    if others := failed_of.get("other"):  # rephrasings and verdicts are asked too
        section.add().tables.append(table("Tries that failed", _FAILED, others, most=room.n_rows))


def _ranges(rows: list[Row], shown: list[str], task: str) -> Drawn:
    models = list(dict.fromkeys(row["model_id"] for row in rows))[: panels.MOST_BARS]
    own = [row for row in rows if row["model_id"] in models and row["strategy"] in shown]
    points = [
        point(MART, row, "latency_p50_ms", name=row["model_id"], series=row["strategy"])
        | {"low": row["latency_p50_ms"], "high": row["latency_p95_ms"]}
        for row in own
    ]
    most = max(row["high"] for row in points)
    slowest = max(own, key=lambda row: row["latency_p50_ms"])
    label = (
        f"{task}: latency of {len(models)} models by strategy in milliseconds, median to 95th percentile; largest median "
        f"{milliseconds(slowest['latency_p50_ms'])}, of {cut(slowest['model_id'], NAME)}."
    )
    domain = (0.0, most * 1.05 or 1.0)
    return "median to 95th percentile", panels.ranges(points, shown, domain, "ms", label, of_what="strategy")


def _finding(data: ReportData) -> str:
    known = [row["cost_usd"] for row in data["answer_totals"] if row["cost_usd"] is not None]
    slowest = largest(known_rows(data, data["answer_totals"], "latency_p50_ms"), "latency_p50_ms")
    took = (
        ""
        if slowest is None
        else f", the slowest median answer took {slowest['latency_p50_ms']:,.0f} ms ({whose(slowest)})"
    )
    n = count(sum(row["n_answers"] or 0 for row in data["answer_totals"]))
    return (
        f"{n} answers cost {usd(sum(known))}{took}"
        if known
        else f"{n} answers, whose price is not known{took}"
        if data["answer_totals"]
        else ""
    )


costs = Section(
    name="costs",
    title="Cost, tokens, latency and retries",
    intro=(
        "This is what the answers of this run cost in tokens, money and time. A dash is a figure that the engine "
        "does not give. A cost is tokens times the price during the run. Latency is the time from request to "
        "answer, for answers that came; lines go from its median to its 95th percentile."
    ),
    fill=_fill,
    finding=_finding,
    queries=("answer_totals", "attempts"),
)
