"""The section on agreement: between judges, people and rules, of templates on what is right, and of judges with controls."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Cell, Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.gather_judging import JudgingData
from promptaudit.report.sections.columns import MODEL, Column, counted, figure, judge_errors, table, words
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import number
from promptaudit.warehouse import Row

_PAIR = 2
_REPEATED = " repetitions"
_BETWEEN = " | "


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    judging = data.judging
    agreements, controls = by(judging.agreements, "task_id"), by(judging.controls, "task_id")
    anchors = by(judging.anchors, "task_id")
    for task_id, spreads in by(judging.spreads, "task_id").items():
        block = section.add(task_id)
        if task_id in agreements:
            caption, columns = "Agreement of those who ruled", _rater_columns(judging)
            block.tables.append(table(caption, columns, agreements[task_id], "fct_judge_agreement", is_open=True))
        elif judging.judges:
            block.absent.append("No two raters, be they judges, people or rules, ruled on the same answer.")
        if task_id in controls:
            block.tables.append(
                table("Judges on their controls", _CONTROLS, controls[task_id], "fct_judge_controls", is_open=True)
            )
        elif judging.judges:
            block.absent.append("No controls were shown to the judges.")
        if task_id in anchors:
            caption = "Judges on anchors"
            block.tables.append(
                table(caption, _ANCHORS, anchors[task_id], "rpt_judge_anchors", n_heads=1, is_open=True)
            )
        caption = "Agreement of the templates on which answers are right"
        block.tables.append(table(caption, _template_columns(judging), spreads, "fct_scoring_sensitivity"))


_CONTROLS = (
    words("Judge", "scoring_method"),
    words("Controls", "kind"),
    counted("Shown", "n_controls"),
    counted("Verdicts read", "n_scored"),
    counted("Wrong", "n_wrong"),
    figure("Error rate", "error_rate", Traced.percent),
)


_ANCHORS = (
    words("Judge", "scoring_method"),
    counted("Anchors", "n_anchors"),
    counted("Of people", "n_known_by_people"),
    counted("Verdicts read", "n_ruled"),
    counted("Too harsh", "n_too_harsh"),
    counted("Too mild", "n_too_mild"),
    figure("As known", "judge_agreement", Traced.percent),
)


def _rater_columns(judging: JudgingData) -> tuple[Column, ...]:
    errors = judging.errors
    return (
        words("Raters", "raters"),
        words("Kind", "kind"),
        Column("Judge wrong on controls", lambda of: _errors_of(of.row, errors)),
        counted("Raters", "n_raters"),
        counted("Answers rated", "n_rated"),
        figure("Agreement", "agreement_rate", Traced.percent),
        figure("Perfect agreement", "perfect_agreement_rate", Traced.percent),
        Column("Cohen's κ", _cohen, is_figure=True),
        figure("Fleiss' κ", "fleiss_kappa", _kappa),
        counted("Distinct answers", "n_rated_distinct"),
        Column("Cohen's κ, distinct", lambda of: _cohen(of, "cohen_kappa_distinct"), is_figure=True),
    )


def _cohen(of: Traced, name: str = "cohen_kappa") -> Printed:
    return _kappa(of, name) if of.row["n_raters"] == _PAIR else "of two alone"


def _kappa(of: Traced, name: str) -> Cell:
    if of.row[name] is None and of.row["n_rated"]:
        return of.cell(name, "one verdict alone")
    return of.number(name)


def _errors_of(row: Row, errors: dict[tuple[str, str], str]) -> str:
    """Returns what the controls say of each judge of a set."""
    raters = [row["raters"].removesuffix(_REPEATED)] if row["kind"] == "repetitions" else row["raters"].split(_BETWEEN)
    known = [(name, errors[row["task_id"], name]) for name in raters if (row["task_id"], name) in errors]
    return known[0][1] if len(known) == 1 else "; ".join(f"{name}: {rates}" for name, rates in known)


def _template_columns(judging: JudgingData) -> tuple[Column, ...]:
    return (
        MODEL,
        words("Scored by", "scoring_method"),
        judge_errors(judging),
        counted("Templates", "n_variants"),
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


def _finding(data: ReportData) -> str:
    agreements = [row for row in data.judging.agreements if row["task_id"] is not None]
    return ends(data, "Those who ruled agree on a share", agreements, "agreement_rate", "task_id", "raters")


agreement = Section(
    name="agreement",
    title="Agreement and controls",
    intro=(
        "These tables show how far judges, people and rules agree on the answers that all of them ruled on, and "
        "how far templates agree on which answers are right. They show how often each judge is wrong on controls, "
        "which are answers known to be right or wrong, blank ones, and wrong ones that tell the judge to call them "
        "right. They show how often the judge of tonight gives the known verdict on anchors, which are right and "
        "likely wrong answers in a sentence, and answers that people ruled on."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
