"""The section on the fields of extraction: how often each is right, and how much its value depends on the wording."""

from __future__ import annotations

from promptaudit.registry.cards import ALL_FIELDS
from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, counted, figure, table, words
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import ranged

_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Field", "field"),
    N_SAMPLES,
    counted("Wordings", "n_variants"),
    figure("Accuracy", "accuracy"),
    bounds("accuracy"),
    figure("Sensitivity", "sensitivity"),
    bounds("sensitivity"),
    figure("PSS, inter", "pss_inter"),
    bounds("pss_inter"),
    figure("PSS, intra", "pss_intra"),
    bounds("pss_intra"),
    figure("Unread", "unread_rate", Traced.percent),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    for task_id, rows in by(data["fields"], "task_id").items():
        section.add(task_id).tables.append(
            table("Fields", _COLUMNS, rows, "fct_field_stability", n_heads=3, is_open=True, most=room.n_rows)
        )


def _finding(data: ReportData) -> str:
    rows = known_rows(data, [row for row in data["fields"] if row["field"] != ALL_FIELDS], "sensitivity")
    most = largest(rows, "sensitivity")
    if most is None:
        return ""
    spread = ranged(*(most[f"sensitivity{end}"] for end in ("", "_low", "_high")))
    return f"The field that changes most with the wording is {whose(most, 'field', 'model_id', 'task_id', 'strategy')}: {spread}"


fields = Section(
    name="fields",
    title="Fields",
    intro=(
        "What stands in each field of an answer's JSON object, read by the field's rule. Accuracy is the share of right values "
        "under one wording, as the mean over wordings. Sensitivity is 0 where all wordings give one value, and 1 where each "
        "gives another. PSS is Krippendorff's alpha of the values over wordings, and over repetitions. all_fields is what "
        "stands in all of them together."
    ),
    fill=_fill,
    finding=_finding,
    queries=("fields",),
    is_optional=True,
)
