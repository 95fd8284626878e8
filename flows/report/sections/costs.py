"""The section on what the answers took: tokens, money, time and tries."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, count, cut, milliseconds, number, usd
from flows.report.blocks.blocks import Block, Section, by_task
from flows.report.blocks.cells import Printed, Traced, plain
from flows.report.charts import panels
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, coloured
from flows.report.sections.sensitivity import why_no_answers, why_older
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

_COLUMNS = (
    "Model", "Strategy", "Answers", "Prompt tokens", "Completion tokens", "Cost", "Latency, median", "95 %", "Tries, mean",
    "most", "Tried again", "Errors",
)  # fmt: skip
_FAILED = ("Model", "HTTP status", "Failed tries", "Requests", "Waited before the next, s")


def costs(found: Gathered, room: Room) -> Section:
    """Tokens, cost, latency and attempts of each model and strategy."""
    section = Section(
        "costs",
        "Cost, tokens, latency and retries",
        "What the answers of this run took. A dash is what an engine does not say; a cost is tokens times the price during "
        "the run. Latency is from request to answer, of answers that came; lines go from its median to its 95th percentile.",
    )
    rows_of, failed = by_task(found.answered.answer_totals), by_task(found.answered.attempts)
    for task_id, block, scored in section.of_tasks(found.scorecard):
        rows = rows_of.get(task_id)
        if not rows:
            block.absent.append(why_no_answers(scored) or why_older(found) or "No answer has landed yet.")
            continue
        timed = [row for row in rows if row["n_timed"]]
        if timed:
            shown = coloured(block, timed)
            room.draw(block, [Wanted("Latency", "by model", partial(_drawn, timed, shown, cut(task_id, NAME)))])
        else:
            block.absent.append("No answer of this task has a latency.")
        lines = [_line(row) for row in rows]
        is_partly_priced = any(plain(line[5]).endswith("*") for line in lines)
        note = "* of some answers alone, whose price is known." if is_partly_priced else ""
        block.tables.append(room.table("What answers took", _COLUMNS, lines, 2, 10, note=note))
        _failures(block, failed.get(task_id, []), room)
    if others := failed.get("other"):  # rephrasings and verdicts are asked too
        block = Block(task_id="")
        section.blocks.append(block)
        _failures(block, others, room)
    return section


def _line(row: Row) -> tuple[Printed, ...]:
    of = Traced("rpt_answer_totals", row)
    is_partly_priced = 0 < row["n_priced"] < row["n_answers"]
    latencies = (of.cell(name, milliseconds(row[name])) for name in ("latency_p50_ms", "latency_p95_ms"))
    return (
        row["model_id"], row["strategy"], of.count("n_answers"), of.count("prompt_tokens"), of.count("completion_tokens"),
        of.cell("cost_usd", usd(row["cost_usd"]) + (" *" if is_partly_priced else "")), *latencies,
        of.number("attempts_mean", 2), of.count("attempts_max"), of.count("n_retried"), of.count("n_error"),
    )  # fmt: skip


def _failures(block: Block, rows: list[Row], room: Room) -> None:
    if rows:
        lines = [
            (row["model_id"], "none" if row["http_status"] is None else str(row["http_status"]), count(row["n_failed"]),
             count(row["n_requests"]), number(row["waited_s"], 1))
            for row in rows
        ]  # fmt: skip
        block.tables.append(room.table("Tries that failed", _FAILED, lines, 2, 3))


def _drawn(rows: list[Row], shown: list[str], task: str) -> tuple[str, Markup]:
    models = list(dict.fromkeys(row["model_id"] for row in rows))[: panels.MOST_BARS]
    own = [row for row in rows if row["model_id"] in models and row["strategy"] in shown]
    data = [
        {"name": row["model_id"], "series": row["strategy"], "value": row["latency_p50_ms"], "low": row["latency_p50_ms"],
         "high": row["latency_p95_ms"], "figure": figure_id("rpt_answer_totals", row, "latency_p50_ms")}
        for row in own
    ]  # fmt: skip
    most = max(row["high"] for row in data)
    slowest = max(own, key=lambda row: row["latency_p50_ms"])
    label = (
        f"{task}: latency of {len(models)} models by strategy in milliseconds, median to 95th percentile; largest median "
        f"{milliseconds(slowest['latency_p50_ms'])}, of {cut(slowest['model_id'], NAME)}."
    )
    return "median to 95th percentile", panels.ranges(
        data, shown, (0.0, most * 1.05 or 1.0), "ms", label, of_what="strategy"
    )
