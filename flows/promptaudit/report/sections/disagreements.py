"""The section on answers that a rule and a judge see differently, with what both say of them."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import Disagreement, DrawnSection, by
from promptaudit.report.data import ReportData
from promptaudit.report.queries import MOST_DISAGREEMENTS, MOST_REFERENCES
from promptaudit.report.sections.columns import judge_errors, table, tally, words
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count, cut, number, paragraph, percent
from promptaudit.warehouse import Row

MOST_SHOWN = 120  # the report
LEAST_SHOWN = 2  # a task
MOST_METHODS = 12  # an answer
READERS = ("label_match", "option_letter")  # what they read is the label
_RULINGS = ("right", "partly right", "wrong", "unscored")


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    judging = data.judging
    answers, rulings = by(judging.disagreements, "task_id"), by(judging.rulings, "task_id")
    most = min(MOST_DISAGREEMENTS, max(LEAST_SHOWN, MOST_SHOWN // max(1, len(rulings))))
    columns = (
        words("Rule", "rule"),
        words("Judge", "judge"),
        judge_errors(judging, "judge"),
        words("Rule says", "rule_ruling"),
        tally("Judge: right", "right"),
        tally("wrong", "wrong"),
        tally("unscored", "unscored"),
    )
    for task_id, rows in rulings.items():
        block = section.add(task_id)
        caption = "Predictions by what rule and judge make of them"
        block.tables.append(table(caption, columns, _crossed(rows), is_open=True))
        own = answers.get(task_id, [])
        if not own:
            block.absent.append("Rule and judge score every answer alike.")
            continue
        shown = by([row for row in own if row["rank"] <= most], "rank")
        block.disagreements = [_disagreement(rows, data.texts.long) for rows in shown.values()]
        n_answers = own[0]["n_answers"]
        if n_answers > len(shown):
            block.notes.append(f"{len(shown)} of {count(n_answers)} different answers are shown.")


def _crossed(rows: list[Row]) -> list[Row]:
    """Returns a row for each rule, judge and ruling of the rule, with how many predictions have each ruling of the judge."""
    crossed: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        key = (row["rule"], row["judge"], _RULINGS.index(row["rule_ruling"]))
        counts = crossed.setdefault(key, {**row, "right": 0, "wrong": 0, "unscored": 0})
        counts[row["judge_ruling"]] = row["n_predictions"]
    return [crossed[key] for key in sorted(crossed)]


def _disagreement(rows: list[Row], long: int) -> Disagreement:
    """One answer, from its rows of the scoring methods."""
    row = rows[0]
    models = cut(row["model_id"], 60) if row["n_models"] == 1 else f"{row['n_models']} models"
    n, variants = row["n_predictions"], row["n_variants"]
    times = "once" if n == 1 else f"{count(n)} times"
    templates = "one template" if variants == 1 else f"{count(variants)} templates"
    return Disagreement(
        sample_id=row["sample_id"],
        rulings=tuple((each["scoring_method"], each["ruling"], _reason(each, long)) for each in rows[:MOST_METHODS]),
        occurrence=f"said {times} by {models} under {templates}",
        lines=None if row["input"] is None else paragraph(row["input"], long),
        right_answers=_right_answers(row, long),
        completion=cut(row["completion"] or "", long),
        glimpse=cut(row["completion"] or "", 60),
    )


def _reason(row: Row, long: int) -> str:
    """Why a judge, people or a rule say so: in the words of the former, or what the rule read or reckoned."""
    if row["is_judge"] is not False or row["ruling"] == "unscored":
        return cut(row["reason"] or "no reason given", long)
    if row["score"] not in (None, 0, 1):
        return f"score {number(row['score'])}"
    return f"read as {cut(row['label'], 120)}" if row["label"] is not None and row["scoring_method"] in READERS else ""


def _right_answers(row: Row, long: int) -> tuple[str, ...]:
    """Returns what is right: the gold label with its option, or the reference answers as far as they are shown."""
    if row["gold_label"] is not None:
        option = "" if row["gold_option"] is None else f": {cut(row['gold_option'], long)}"
        return (f"{cut(row['gold_label'], 120)}{option}",)
    known = tuple(cut(reference, 100) for reference in row["reference_answers"] or ())
    more = (row["n_references"] or 0) - MOST_REFERENCES
    return (*known, f"and {more} more") if more > 0 else known


def _finding(data: ReportData) -> str:
    rulings = data.judging.rulings
    n = sum(row["n_predictions"] for row in rulings if row["rule_ruling"] != row["judge_ruling"])
    n_all = sum(row["n_predictions"] for row in rulings)
    return f"Rule and judge differ on {percent(n / n_all)} of the answers that both saw" if n_all else ""


disagreements = Section(
    name="disagreements",
    title="Where rule and judge differ",
    intro=(
        "Rule and judge score these answers differently. The largest differences come first, and one of each way "
        "to differ comes before a second of any. Completions are verbatim, with invisible characters made visible."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
