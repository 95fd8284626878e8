"""The section on answers that a rule and a judge see differently, with what both say of them."""

from __future__ import annotations

from flows.display.figures import count, cut, number, paragraph
from flows.report.blocks.blocks import Block, Disagreement, Section, Table, by_task, limited
from flows.report.gather import Gathered
from flows.report.gather_judged import control_errors
from flows.report.queries import MOST_DISAGREEMENTS, MOST_REFERENCES
from flows.warehouse import Row

MOST_SHOWN = 120  # the report
LEAST_SHOWN = 2  # a task
MOST_METHODS = 12  # an answer
READERS = ("label_match", "option_letter")  # what they read is the label
_RULINGS = ("right", "partly right", "wrong", "unscored")


def disagreements(found: Gathered) -> Section:
    """How often rule and judge differ, and the answers that part them most."""
    section = Section(
        "disagreements",
        "Where rule and judge differ",
        "Answers that rule and judge score differently, those that part them most first; of each way to differ one before a "
        "second of any. Completions are verbatim, the invisible made visible.",
    )
    judged = found.judged
    answers, errors = by_task(judged.disagreements), control_errors(judged.controls)
    rulings = by_task(judged.rulings)
    most = min(MOST_DISAGREEMENTS, max(LEAST_SHOWN, MOST_SHOWN // max(1, len(rulings))))
    for task_id, rows in rulings.items():
        block = Block(task_id=task_id)
        section.blocks.append(block)
        block.tables.append(_crossed(rows, errors))
        own = answers.get(task_id, [])
        if not own:
            block.absent.append("Rule and judge score every answer alike.")
            continue
        by_rank: dict[int, list[Row]] = {}
        for row in own:
            by_rank.setdefault(row["rank"], []).append(row)
        block.disagreements = [_disagreement(rows, found.texts.long) for rank, rows in by_rank.items() if rank <= most]
        n_answers = own[0]["n_answers"]
        if n_answers > len(block.disagreements):
            block.notes.append(f"{len(block.disagreements)} of {count(n_answers)} different answers are shown.")
    return section


def _crossed(rows: list[Row], errors: dict[tuple[str, str], str]) -> Table:
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    task_id = rows[0]["task_id"]
    for row in rows:
        key = (row["rule"], row["judge"], row["rule_ruling"])
        found.setdefault(key, {})[row["judge_ruling"]] = row["n_predictions"]
    lines = [
        (rule, judge, errors.get((task_id, judge), ""), ruling,
         *(count(by_judge.get(of_judge, 0)) for of_judge in ("right", "wrong", "unscored")))
        for (rule, judge, ruling), by_judge in sorted(found.items(), key=lambda item: (*item[0][:2], _RULINGS.index(item[0][2])))
    ]  # fmt: skip
    kept, note = limited(lines)
    columns = ("Rule", "Judge", "Judge wrong on controls", "Rule says", "Judge: right", "wrong", "unscored")
    return Table(
        caption="Predictions by what rule and judge make of them",
        columns=columns,
        rows=kept,
        n_heads=2,
        n_figures=3,
        is_open=True,
        note=note,
    )


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
        said=f"said {times} by {models} under {templates}",
        lines=None if row["input"] is None else paragraph(row["input"], long),
        right_answers=_right_answers(row, long),
        completion=cut(row["completion"] or "", long),
        glimpse=cut(row["completion"] or "", 60),
    )


def _reason(row: Row, long: int) -> str:
    """Why a judge or a rule says so: in the judge's words, or what the rule read or reckoned."""
    if row["is_judge"] or row["ruling"] == "unscored":
        return cut(row["reason"] or "no reason given", long)
    if row["score"] not in (None, 0, 1):
        return f"score {number(row['score'])}"
    return f"read as {cut(row['label'], 120)}" if row["label"] is not None and row["scoring_method"] in READERS else ""


def _right_answers(row: Row, long: int) -> tuple[str, ...]:
    """What is right: the gold label with its option, or the reference answers as far as they are shown."""
    if row["gold_label"] is not None:
        option = "" if row["gold_option"] is None else f": {cut(row['gold_option'], long)}"
        return (f"{cut(row['gold_label'], 120)}{option}",)
    known = tuple(cut(reference, 100) for reference in row["reference_answers"] or ())
    more = (row["n_references"] or 0) - MOST_REFERENCES
    return (*known, f"and {more} more") if more > 0 else known
