"""The section on formats: what became of the answers, per model and per variant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by, by_pair, keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import (
    MODEL,
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    table,
    variant_number,
    wording,
)
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.reasons import why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count, percent
from promptaudit.warehouse import Row

MOST_VARIANTS = 200  # a panel
WORST = 10
_LANDED, _TOTALS, _VARIANTS = "rpt_audit", "rpt_answer_totals", "rpt_prompt_variants"


def _sum(rows: Sequence[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _n_invalid(rows: Sequence[Row]) -> int:
    return _sum(rows, "n_landed") - _sum(rows, "n_error") - _sum(rows, "n_valid")


def _invalid_rate(rows: Sequence[Row]) -> float | None:
    n_answered = _sum(rows, "n_landed") - _sum(rows, "n_error")
    return _n_invalid(rows) / n_answered if n_answered else None


def _summed(mart: str, heading: str, name: str) -> Column:
    """Returns a count of a mart, or without its row the sum over a group's formats."""
    return beside(mart, counted(heading, name), lambda row: count(_sum(row["formats"], name)))


# without a row of the mart nothing landed
_BECAME = (
    MODEL,
    STRATEGY,
    _summed(_LANDED, "Planned", "n_planned"),
    _summed(_LANDED, "Landed", "n_landed"),
    *(_summed(_TOTALS, status.capitalize(), f"n_{status}") for status in ("valid", *panels.STATUSES, "error")),
    Column("Missing", lambda of: count(_sum(of.row["formats"], "n_missing")), is_figure=True),
    beside(_LANDED, figure("Invalid rate", "invalid_rate", Traced.percent)),
    beside(_LANDED, bounds("invalid_rate", "95 % interval"), lambda _: ""),
)
_WORST = (
    MODEL,
    STRATEGY,
    Column("Variant", lambda of: variant_number(of.row["variant"])),
    Column("Instruction", lambda of: wording(of.row["variant"])),
    beside(_VARIANTS, counted("Invalid", "n_invalid"), lambda row: count(_n_invalid([row]))),
    beside(
        _VARIANTS, figure("Invalid rate", "invalid_rate", Traced.percent), lambda row: percent(_invalid_rate([row]))
    ),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data.formats, "task_id")
    scores, totals = (
        keyed(rows, "task_id", "model_id", "strategy") for rows in (data.scorecard, data["answer_totals"])
    )
    of_variants = keyed(data["prompt_variants"], "model_id", "prompt_variant_id")
    variants = {row["prompt_variant_id"]: row for row in data.variants}
    places = {prompt_variant_id: place for place, prompt_variant_id in enumerate(variants)}
    for task_id, block, _ in section.of_tasks(data.scorecard):
        block.legend = tuple((paint, status) for status, paint in panels.STATUSES.items())
        groups = by_pair(rows_of.get(task_id, []))
        bad = [row for rows in groups.values() if _invalid_rate(rows) for row in rows]
        if bad:
            room.draw_pairs(block, charts_of_pairs(bad, task_id, partial(_stacks, places=places)))
        else:
            read = "read" if why_open(data, task_id) else "read as a label"
            block.absent.append(f"Every answer was {read}." if groups else "No answer was planned.")
        lines = [
            {
                "model_id": model,
                "strategy": strategy,
                "formats": rows,
                _LANDED: scores.get((task_id, model, strategy)),
                _TOTALS: totals.get((task_id, model, strategy)),
            }
            for (model, strategy), rows in groups.items()
        ]
        block.tables.append(table("What became of the answers", _BECAME, lines, is_open=True))
        worst = sorted(bad, key=lambda row: _invalid_rate([row]) or 0, reverse=True)[:WORST]
        lines = [
            {
                **row,
                "variant": variants.get(row["prompt_variant_id"]),
                _VARIANTS: of_variants.get((row["model_id"], row["prompt_variant_id"])),
            }
            for row in worst
        ]
        if lines:
            block.tables.append(table("Variants with the most invalid answers", _WORST, lines, n_heads=3))


def _stacks(rows: list[Row], who: str, *, places: dict[str, int]) -> Drawn:
    ordered = sorted(rows, key=lambda row: places.get(row["prompt_variant_id"], 0))[:MOST_VARIANTS]
    bars = [
        {"place": place, "status": status, "rate": row[f"n_{status}"] / (row["n_landed"] - row["n_error"])}
        for place, row in enumerate(ordered)
        for status in panels.STATUSES
        if row[f"n_{status}"]
    ]
    rate = percent(_invalid_rate(rows))
    some = "" if len(rows) <= MOST_VARIANTS else f", the first {MOST_VARIANTS} of {len(rows)} variants"
    label = f"{who}: invalid answers by prompt variant; {rate} in all."
    return f"{rate} invalid{some}", panels.stacks(bars, len(ordered), label)


def _finding(data: ReportData) -> str:
    worst = largest(known_rows(data, data.scorecard, "invalid_rate"), "invalid_rate")
    if worst is None:
        return ""
    if not worst["invalid_rate"]:
        return "Every answer could be read"
    return f"Up to {percent(worst['invalid_rate'])} of the answers could not be read, for {whose(worst)}"


answer_formats = Section(
    name="answer_formats",
    title="Invalid answers",
    intro="Share of answers that could not be read as a label: blank, cut off, refused, or unreadable.",
    fill=_fill,
    finding=_finding,
    queries=("answer_totals", "prompt_variants"),
)
