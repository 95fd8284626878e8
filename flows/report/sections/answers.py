"""The sections on answers: what became of them, and how often each variant is right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flows.display.figures import count, cut, number, percent
from flows.report.blocks.blocks import Section, by, by_pair, keyed
from flows.report.blocks.cells import Traced
from flows.report.charts import panels
from flows.report.gather import ReportData
from flows.report.sections.columns import (
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
    words,
)
from flows.report.sections.reasons import NO_GOLD, why_no_answers, why_open
from flows.report.sections.room import Drawn, Room, charts_of_pairs
from flows.warehouse import Row

MOST_VARIANTS = 200  # a panel
WORST = 10
_LANDED, _TOTALS, _VARIANTS, _SPREADS = "rpt_audit", "rpt_answer_totals", "rpt_prompt_variants", "rpt_accuracy_spreads"


def _sum(rows: Sequence[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _n_invalid(rows: Sequence[Row]) -> int:
    return _sum(rows, "n_landed") - _sum(rows, "n_error") - _sum(rows, "n_valid")


def _invalid_rate(rows: Sequence[Row]) -> float | None:
    n_answered = _sum(rows, "n_landed") - _sum(rows, "n_error")
    return _n_invalid(rows) / n_answered if n_answered else None


def _summed(mart: str, heading: str, name: str) -> Column:
    """A count of a mart, or without its row the sum over a group's formats."""
    return beside(mart, counted(heading, name), lambda row: count(_sum(row["formats"], name)))


# without a row of the mart nothing landed
_BECAME = (
    MODEL, STRATEGY, _summed(_LANDED, "Planned", "n_planned"), _summed(_LANDED, "Landed", "n_landed"),
    *(_summed(_TOTALS, status.capitalize(), f"n_{status}") for status in ("valid", *panels.STATUSES, "error")),
    Column("Missing", lambda of: count(_sum(of.row["formats"], "n_missing")), is_figure=True),
    beside(_LANDED, figure("Invalid rate", "invalid_rate", Traced.percent)),
    beside(_LANDED, bounds("invalid_rate", "95 % interval without quarantined"), lambda _: ""),
)  # fmt: skip
_WORST = (
    MODEL, STRATEGY, Column("Variant", lambda of: variant_number(of.row["variant"])),
    Column("Instruction", lambda of: wording(of.row["variant"])),
    beside(_VARIANTS, counted("Invalid", "n_invalid"), lambda row: count(_n_invalid([row]))),
    beside(_VARIANTS, figure("Invalid rate", "invalid_rate", Traced.percent), lambda row: percent(_invalid_rate([row]))),
)  # fmt: skip


def formats(data: ReportData, room: Room) -> Section:
    """Returns what became of the answers, per model and per variant."""
    section = Section(
        "formats",
        "Invalid answers",
        "Share of answers that could not be read as a label: blank, cut off, refused, or unreadable.",
    )
    rows_of = by(data.formats, "task_id")
    scores, totals = (keyed(rows, "task_id", "model_id", "strategy") for rows in (data.scorecard, data.answer_totals))
    of_variants = keyed(data.prompt_variants, "model_id", "prompt_variant_id")
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
            {"model_id": model, "strategy": strategy, "formats": rows, _LANDED: scores.get((task_id, model, strategy)),
             _TOTALS: totals.get((task_id, model, strategy))}
            for (model, strategy), rows in groups.items()
        ]  # fmt: skip
        block.tables.append(table("What became of the answers", _BECAME, lines, is_open=True))
        worst = sorted(bad, key=lambda row: _invalid_rate([row]) or 0, reverse=True)[:WORST]
        lines = [
            {**row, "variant": variants.get(row["prompt_variant_id"]),
             _VARIANTS: of_variants.get((row["model_id"], row["prompt_variant_id"]))}
            for row in worst
        ]  # fmt: skip
        if lines:
            block.tables.append(table("Variants with the most invalid answers", _WORST, lines, n_heads=3))
    return section


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


_ACCURACY = (
    MODEL, STRATEGY, words("Scored by", "scoring_method"),
    beside(_SPREADS, counted("Variants", "n_variants"), lambda row: count(row["n"])),
    beside(_SPREADS, figure("Original", "accuracy_original")), words("Least", "least"),
    beside(_SPREADS, figure("Mean", "accuracy_mean")), words("Most", "most"),
    beside(_SPREADS, figure("Standard deviation", "accuracy_std")), words("Least accurate wording", "least_wording"),
    words("Most accurate wording", "most_wording"),
)  # fmt: skip

_RECTIFIED = (
    MODEL, STRATEGY, words("Judge", "scoring_method"), words("Wording", "worded"), figure("Judged accuracy", "accuracy"),
    figure("Rectified accuracy", "accuracy_rectified"), bounds("accuracy_rectified"),
    counted("Ruled by people", "n_ruled"),
)  # fmt: skip


def accuracy(data: ReportData, room: Room) -> Section:
    """Returns how often each variant's answers are right."""
    section = Section(
        "accuracy",
        "Accuracy by variant",
        "Each dot is one wording, from least to most accurate; a diamond is the original.",
    )
    rows_of = by(data.accuracies, "task_id")
    spreads = keyed(data.accuracy_spreads, "task_id", "scoring_method", "model_id", "strategy")
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
                    {**rows[0], "n": len(rows), _SPREADS: spreads.get((task_id, method, *pair)),
                     **{end: Traced("fct_variant_accuracy", row).number("accuracy") for end, row in ends.items()},
                     **{f"{end}_wording": _worded(variants.get(row["prompt_variant_id"])) for end, row in ends.items()}}
                )  # fmt: skip
        block.tables.append(table("Accuracy over variants", _ACCURACY, lines, n_heads=3))
        if rectified := [row for row in rows_of[task_id] if row["accuracy_rectified"] is not None]:
            rows = [{**row, "worded": _worded(variants.get(row["prompt_variant_id"]))} for row in rectified]
            caption = "Accuracy that people would give, by variant"
            block.tables.append(table(caption, _RECTIFIED, rows, "fct_variant_accuracy", n_heads=3, most=room.n_rows))
    return section


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
