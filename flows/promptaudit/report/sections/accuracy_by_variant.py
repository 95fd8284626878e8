"""The section on accuracy: how often each variant's answers are right."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by, by_pair, keyed
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import (
    MODEL,
    STRATEGY,
    beside,
    bounds,
    counted,
    figure,
    table,
    variant_number,
    wording,
    words,
)
from promptaudit.report.sections.extremes import by_group, known_rows, whose
from promptaudit.report.sections.reasons import NO_GOLD, why_no_answers
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count, cut, number
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MOST_VARIANTS = 200  # a panel
_SPREADS = "rpt_accuracy_spreads"
_ACCURACY = (
    MODEL,
    STRATEGY,
    words("Scored by", "scoring_method"),
    beside(_SPREADS, counted("Variants", "n_variants"), lambda row: count(row["n"])),
    beside(_SPREADS, figure("Original", "accuracy_original")),
    words("Least", "least"),
    beside(_SPREADS, figure("Mean", "accuracy_mean")),
    words("Most", "most"),
    beside(_SPREADS, figure("Standard deviation", "accuracy_std")),
    words("Least accurate wording", "least_wording"),
    words("Most accurate wording", "most_wording"),
)

_RECTIFIED = (
    MODEL,
    STRATEGY,
    words("Judge", "scoring_method"),
    words("Wording", "worded"),
    figure("Judged accuracy", "accuracy"),
    figure("Rectified accuracy", "accuracy_rectified"),
    bounds("accuracy_rectified"),
    counted("Ruled by people", "n_ruled"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["accuracy_by_variant"], "task_id")
    spreads = keyed(data["accuracy_spreads"], "task_id", "scoring_method", "model_id", "strategy")
    variants = {row["prompt_variant_id"]: row for row in data.variants}
    originals = {prompt_variant_id for prompt_variant_id, row in variants.items() if row["is_original"]}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id not in rows_of:
            block.absent.append(why_no_answers(scored) or NO_GOLD)
            continue
        methods = by(rows_of[task_id], "scoring_method")
        domain = panels.domain_of([row["accuracy"] for row in rows_of[task_id]], least=0)
        lines = []
        for method, of_method in methods.items():
            draw = partial(_dots, domain=domain, originals=originals)
            room.draw_pairs(block, charts_of_pairs(of_method, task_id, draw), n_sharing=len(methods))
            for pair, rows in by_pair(of_method).items():
                ends = {"least": rows[0], "most": rows[-1]}
                lines.append(
                    {
                        **rows[0],
                        "n": len(rows),
                        _SPREADS: spreads.get((task_id, method, *pair)),
                        **{end: Traced("fct_variant_accuracy", row).number("accuracy") for end, row in ends.items()},
                        **{
                            f"{end}_wording": _worded(variants.get(row["prompt_variant_id"]))
                            for end, row in ends.items()
                        },
                    }
                )
        block.tables.append(table("Accuracy over variants", _ACCURACY, lines, n_heads=3))
        if rectified := [row for row in rows_of[task_id] if row["accuracy_rectified"] is not None]:
            rows = [{**row, "worded": _worded(variants.get(row["prompt_variant_id"]))} for row in rectified]
            caption = "Accuracy that people would give, by variant"
            block.tables.append(table(caption, _RECTIFIED, rows, "fct_variant_accuracy", n_heads=3, most=room.n_rows))


def _worded(variant: Row | None) -> str:
    return f"{variant_number(variant)}: {wording(variant)}"


def _dots(rows: list[Row], who: str, *, domain: panels.Domain, originals: set[str]) -> Drawn:
    method, step = cut(rows[0]["scoring_method"], 60), max(1, -(-len(rows) // MOST_VARIANTS))
    dots = [
        {"place": place, "accuracy": row["accuracy"], "is_original": row["prompt_variant_id"] in originals}
        for place, row in enumerate(rows, start=1)
    ]
    shown = [dot for place, dot in enumerate(dots) if place % step == 0 or dot["is_original"]]
    spread = f"{number(rows[0]['accuracy'])} to {number(rows[-1]['accuracy'])}"
    label = f"{who}: accuracy of {len(rows)} prompt variants by {method}, from {spread}."
    return f"{method}: {spread}", panels.dots(shown, domain, label)


def _widest(data: ReportData) -> list[Row] | None:
    groups = [rows for rows in by_group(known_rows(data, data["accuracy_by_variant"], "accuracy")) if len(rows) > 1]
    return max(
        groups,
        key=lambda rows: max(row["accuracy"] for row in rows) - min(row["accuracy"] for row in rows),
        default=None,
    )


def _finding(data: ReportData) -> str:
    widest = _widest(data)
    if widest is None:
        return ""
    rows = sorted(widest, key=lambda row: row["accuracy"])
    ends = f"{number(rows[0]['accuracy'])} to {number(rows[-1]['accuracy'])}"
    return f"Accuracy is {ends} depending on the {word_for(data.variants)}, for {whose(rows[0])}"


accuracy_by_variant = Section(
    name="accuracy_by_variant",
    title="Accuracy by variant",
    intro="Each dot is one wording, from least to most accurate; a diamond is the original.",
    fill=_fill,
    finding=_finding,
    queries=("accuracy_by_variant", "accuracy_spreads"),
)
