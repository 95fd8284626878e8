"""The section on which wording to ship: what speaks for each, and what the best gains over the original."""

from __future__ import annotations

from promptaudit.query.choice.choose import Wording
from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, bounds, figure, table, variant_number, wording, words
from promptaudit.report.sections.extremes import whose
from promptaudit.report.sections.reasons import NO_GOLD, why_no_answers
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import signed
from promptaudit.warehouse import Row

MART = "rpt_wording_choices"
SHORT = 60  # characters of a wording
TOO_FEW = "There are fewer than 20 samples, or no wording beside the original."
_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Right by", "scoring_method"),
    words("Wording", "worded"),
    figure("Accuracy", "accuracy"),
    bounds("accuracy", "95 % interval of all at once"),
    figure("Chance to be best", "chance_best"),
    figure("Expected loss", "expected_loss"),
    figure("In its worst variation", "accuracy_worst_variation"),
    figure("Agrees with itself", "agreement"),
    figure("Prompt tokens", "mean_prompt_tokens"),
    figure("Gain over the original", "gain"),
    bounds("gain", "95 % interval of the gain"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["wording_choices"], "task_id")
    variants = {row["prompt_variant_id"]: row for row in data.variants}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id not in rows_of:
            has_gold = any(row["task_id"] == task_id for row in data["accuracy_by_variant"])
            block.absent.append(why_no_answers(scored) or (TOO_FEW if has_gold else NO_GOLD))
            continue
        rows = [{**row, "worded": _worded(row, variants.get(row["prompt_variant_id"]))} for row in rows_of[task_id]]
        block.tables.append(table("What speaks for each wording", _COLUMNS, rows, MART, n_heads=4, most=room.n_rows))


def _worded(row: Row, variant: Row | None) -> str:
    number = "original" if row["is_original"] else variant_number(variant)
    return f"{number}: {wording(variant, SHORT)}"


def _finding(data: ReportData) -> str:
    chosen = [row for row in data["wording_choices"] if row["is_chosen"]]
    better = [row for row in chosen if row["is_better"]]
    if not better:
        most = signed(max((row["gain_high"] for row in chosen), default=None))
        return f"No wording is better than the original beyond chance; up to {most} is possible" if chosen else ""
    row = max(better, key=lambda each: each["gain_low"])
    variant = next(each for each in data.variants if each["prompt_variant_id"] == row["prompt_variant_id"])
    of_variant = ("variant_index", "paraphrase_temperature", "variation", "instruction")
    return f"For {whose(row)} {Wording(**row, **{name: variant[name] for name in of_variant}).better_in_words}"


wording_choices = Section(
    name="wording_choices",
    title="Which wording to ship",
    intro=(
        "For each wording, the table has how often it is right, the chance that it is the best of all, and what is "
        "lost if it is not. The chosen one also has its gain over the original, on samples that took no part in "
        "the choice."
    ),
    fill=_fill,
    finding=_finding,
    queries=("wording_choices", "accuracy_by_variant"),
)
