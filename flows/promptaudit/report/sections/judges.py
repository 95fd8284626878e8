"""Builds the sections on judges, people and rules: how far they agree, which answers they prefer, where they differ."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import by
from promptaudit.report.blocks.cells import Cell, Printed, Traced
from promptaudit.report.data import JudgingData, ReportData
from promptaudit.report.queries import MOST_DISAGREEMENTS, MOST_REFERENCES
from promptaudit.report.sections.columns import (
    MODEL,
    STRATEGY,
    Column,
    bounds,
    counted,
    figure,
    judge_errors,
    tally,
    words,
)
from promptaudit.report.sections.section import Section, Task
from promptaudit.report.sections.words import ends
from promptaudit.system.display.figures import count, cut, number, paragraph, percent
from promptaudit.warehouse import Row

# agreement: between judges, people and rules, of templates on what is right, and of judges with controls

_PAIR = 2
_REPEATED = " repetitions"
_BETWEEN = " | "
_JUDGE = words("Judge", "scoring_method")
_CONTROLS = (
    *(_JUDGE, words("Controls", "kind"), counted("Shown", "n_controls"), counted("Verdicts read", "n_scored")),
    *(counted("Wrong", "n_wrong"), figure("Error rate", "error_rate", Traced.percent)),
)
_ANCHORS = (
    *(_JUDGE, counted("Anchors", "n_anchors"), counted("Of people", "n_known_by_people")),
    *(counted("Verdicts read", "n_ruled"), counted("Too harsh", "n_too_harsh"), counted("Too mild", "n_too_mild")),
    figure("As known", "judge_agreement", Traced.percent),
)


def _fill_agreement(task: Task) -> None:
    judging = task.data.judging
    agreements, controls, anchors = (
        [row for row in rows if row["task_id"] == task.block.task_id]
        for rows in (judging.agreements, judging.controls, judging.anchors)
    )
    caption, columns = "Agreement of those who ruled", _rater_columns(judging)
    task.table(caption, columns, agreements, "fct_judge_agreement", is_open=True)
    task.table("Judges on their controls", _CONTROLS, controls, "fct_judge_controls", is_open=True)
    if judging.judges and not agreements:
        task.block.absent.append("No two raters, be they judges, people or rules, ruled on the same answer.")
    if judging.judges and not controls:
        task.block.absent.append("No controls were shown to the judges.")
    task.table("Judges on anchors", _ANCHORS, anchors, "rpt_judge_anchors", n_heads=1, is_open=True)
    caption = "Agreement of the templates on which answers are right"
    task.table(caption, _template_columns(judging), task.rows, "fct_scoring_sensitivity")


def _rater_columns(judging: JudgingData) -> tuple[Column, ...]:
    errors = judging.errors
    return (
        *(words("Raters", "raters"), words("Kind", "kind")),
        Column("Judge wrong on controls", lambda of: _errors_of(of.row, errors)),
        *(counted("Raters", "n_raters"), counted("Answers rated", "n_rated")),
        figure("Agreement", "agreement_rate", Traced.percent),
        figure("Perfect agreement", "perfect_agreement_rate", Traced.percent),
        *(figure("Cohen's κ", "cohen_kappa", _cohen), figure("Fleiss' κ", "fleiss_kappa", _kappa)),
        *(
            counted("Distinct answers", "n_rated_distinct"),
            figure("Cohen's κ, distinct", "cohen_kappa_distinct", _cohen),
        ),
    )


def _cohen(of: Traced, name: str) -> Printed:
    return _kappa(of, name) if of.row["n_raters"] == _PAIR else "of two alone"


def _kappa(of: Traced, name: str) -> Cell:
    if of.row[name] is None and of.row["n_rated"]:
        return of.cell(name, "one verdict alone")
    return of.number(name)


def _errors_of(row: Row, errors: dict[tuple[str, str], str]) -> str:
    # the error rates on controls of each judge in a set of raters
    raters = [row["raters"].removesuffix(_REPEATED)] if row["kind"] == "repetitions" else row["raters"].split(_BETWEEN)
    known = [(name, errors[row["task_id"], name]) for name in raters if (row["task_id"], name) in errors]
    return known[0][1] if len(known) == 1 else "; ".join(f"{name}: {rates}" for name, rates in known)


def _template_columns(judging: JudgingData) -> tuple[Column, ...]:
    return (
        *(MODEL, words("Scored by", "scoring_method"), judge_errors(judging), counted("Templates", "n_variants")),
        counted("Samples scored under all", "n_samples_scored_everywhere"),
        figure("Perfect agreement", "perfect_agreement_rate", Traced.percent),
        figure("Fleiss' κ", "fleiss_kappa", lambda of, name: of.cell(name, _fleiss(of.row))),
    )


def _fleiss(row: Row) -> str:
    if row["fleiss_kappa"] is not None:
        return number(row["fleiss_kappa"])
    if not row["n_samples_scored_everywhere"]:
        is_graded = (row["accuracy_scored_mean"] is not None) and row["n_samples_accuracy_scored_corrected"]
        return "scores are shares" if is_graded else "no sample scored under all"
    return "needs two templates" if (row["n_variants"] or 0) < _PAIR else "all alike"


def _who_agrees(data: ReportData) -> str:
    agreements = [row for row in data.judging.agreements if row["task_id"] is not None]
    return ends(data, "Those who ruled agree on a share", agreements, "agreement_rate", "task_id", "raters")


agreement = Section(
    name="agreement",
    title="Agreement and controls",
    intro="These tables show how far judges, people and rules agree on the answers that all of them ruled on, and "
    "how far templates agree on which answers are right. They show how often each judge is wrong on controls, "
    "which are answers known to be right or wrong, blank ones, and wrong ones that tell the judge to call them "
    "right. They show how often the judge of tonight gives the known verdict on anchors, which are right and "
    "likely wrong answers in a sentence, and answers that people ruled on.",
    rows=lambda data: data.judging.spreads,
    fill=_fill_agreement,
    finding=_who_agrees,
)

# judges of pairs: how often each model's answers are preferred to another's

_PREFERRED = (
    *(MODEL, STRATEGY, words("Against", "against"), _JUDGE, figure("Preferred", "preferred_rate")),
    *(bounds("preferred_rate"), figure("std over prompts", "preferred_rate_std")),
    *(figure("Ties", "tie_rate", Traced.percent), figure("by the order", "order_rate", Traced.percent)),
    *(counted("Pairs", "n_pairs"), counted("ruled on", "n_ruled")),
)


def _preferred(data: ReportData) -> str:
    what = "Answers are preferred in a share of"
    return ends(data, what, data["preferences"], "preferred_rate", "model_id", "task_id")


preferences = Section(
    name="preferences",
    title="Preferred answers",
    intro="A judge compares each answer with another model's to the same prompt, in both orders; a tie counts half. Where the "
    "answer that stands first, or last, is preferred whichever it is, the order decides, and it is a tie.",
    fill=lambda task: task.table("Answers that are preferred", _PREFERRED, task.rows, "fct_preferences", is_open=True),
    finding=_preferred,
)

# answers that a rule and a judge see differently, with what both say of them

MOST_SHOWN = 120  # the report
LEAST_SHOWN = 2  # a task
MOST_METHODS = 12  # an answer
READERS = ("label_match", "option_letter")  # what they read is the label
_RULINGS = ("right", "partly right", "wrong", "unscored")


def _fill_disagreements(task: Task) -> None:
    judging, block = task.data.judging, task.block
    n_tasks = len({row["task_id"] for row in judging.rulings})
    most = min(MOST_DISAGREEMENTS, max(LEAST_SHOWN, MOST_SHOWN // max(1, n_tasks)))
    columns = (
        *(words("Rule", "rule"), words("Judge", "judge"), judge_errors(judging, "judge")),
        *(words("Rule says", "rule_ruling"), tally("Judge: right", "right"), tally("wrong", "wrong")),
        tally("unscored", "unscored"),
    )
    task.table("Predictions by what rule and judge make of them", columns, _crossed(task.rows), is_open=True)
    own = [row for row in judging.disagreements if row["task_id"] == block.task_id]
    if not own:
        block.absent.append("Rule and judge score every answer alike.")
        return
    shown = by([row for row in own if row["rank"] <= most], "rank")
    block.disagreements = [_disagreement(rows, task.data.texts.long) for rows in shown.values()]
    n_answers = own[0]["n_answers"]
    if n_answers > len(shown):
        block.notes.append(f"{len(shown)} of {count(n_answers)} different answers are shown.")


def _crossed(rows: list[Row]) -> list[Row]:
    # a row per rule, judge and ruling of the rule, with the number of predictions for each ruling of the judge
    crossed: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        key = (row["rule"], row["judge"], _RULINGS.index(row["rule_ruling"]))
        counts = crossed.setdefault(key, {**row, "right": 0, "wrong": 0, "unscored": 0})
        counts[row["judge_ruling"]] = row["n_predictions"]
    return [crossed[key] for key in sorted(crossed)]


def _disagreement(rows: list[Row], long: int) -> Row:
    # rulings as (method, ruling, reason); lines of the question, None: not recorded
    row = rows[0]
    models = cut(row["model_id"], 60) if row["n_models"] == 1 else f"{row['n_models']} models"
    n, variants = row["n_predictions"], row["n_variants"]
    times = "once" if n == 1 else f"{count(n)} times"
    templates = "one template" if variants == 1 else f"{count(variants)} templates"
    return {
        "sample_id": row["sample_id"],
        "rulings": [(each["scoring_method"], each["ruling"], _reason(each, long)) for each in rows[:MOST_METHODS]],
        "occurrence": f"said {times} by {models} under {templates}",
        "lines": None if row["input"] is None else paragraph(row["input"], long),
        "right_answers": _right_answers(row, long),
        "completion": cut(row["completion"] or "", long),
        "glimpse": cut(row["completion"] or "", 60),
    }


def _reason(row: Row, long: int) -> str:
    # a judge's or a person's own words; for a rule, its score or the label it read
    if row["is_judge"] is not False or row["ruling"] == "unscored":
        return cut(row["reason"] or "no reason given", long)
    if row["score"] not in (None, 0, 1):
        return f"score {number(row['score'])}"
    return f"read as {cut(row['label'], 120)}" if row["label"] is not None and row["scoring_method"] in READERS else ""


def _right_answers(row: Row, long: int) -> tuple[str, ...]:
    # the gold label with its option, or the first reference answers
    if row["gold_label"] is not None:
        option = "" if row["gold_option"] is None else f": {cut(row['gold_option'], long)}"
        return (f"{cut(row['gold_label'], 120)}{option}",)
    known = tuple(cut(reference, 100) for reference in row["reference_answers"] or ())
    more = (row["n_references"] or 0) - MOST_REFERENCES
    return (*known, f"and {more} more") if more > 0 else known


def _how_many_differ(data: ReportData) -> str:
    rulings = data.judging.rulings
    n = sum(row["n_predictions"] for row in rulings if row["rule_ruling"] != row["judge_ruling"])
    n_all = sum(row["n_predictions"] for row in rulings)
    return f"Rule and judge differ on {percent(n / n_all)} of the answers that both saw" if n_all else ""


disagreements = Section(
    name="disagreements",
    title="Where rule and judge differ",
    intro="Rule and judge score these answers differently. The largest differences come first, and one of each way "
    "to differ comes before a second of any. Completions are verbatim, with invisible characters made visible.",
    rows=lambda data: data.judging.rulings,
    fill=_fill_disagreements,
    finding=_how_many_differ,
)
