"""The section on judges of pairs: how often each model's answers are preferred to another's."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, bounds, counted, figure, table, words
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section

_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Against", "against"),
    words("Judge", "scoring_method"),
    figure("Preferred", "preferred_rate"),
    bounds("preferred_rate"),
    figure("std over prompts", "preferred_rate_std"),
    figure("Ties", "tie_rate", Traced.percent),
    figure("by the order", "order_rate", Traced.percent),
    counted("Pairs", "n_pairs"),
    counted("ruled on", "n_ruled"),
)


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    for task_id, rows in by(data["preferences"], "task_id").items():
        section.add(task_id).tables.append(
            table("Answers that are preferred", _COLUMNS, rows, "fct_preferences", is_open=True)
        )


def _finding(data: ReportData) -> str:
    what = "Answers are preferred in a share of"
    return ends(data, what, data["preferences"], "preferred_rate", "model_id", "task_id")


preferences = Section(
    name="preferences",
    title="Preferred answers",
    intro=(
        "A judge compares each answer with another model's to the same prompt, in both orders; a tie counts half. Where the "
        "answer that stands first, or last, is preferred whichever it is, the order decides, and it is a tie."
    ),
    fill=_fill,
    finding=_finding,
    queries=("preferences",),
    is_optional=True,
)
