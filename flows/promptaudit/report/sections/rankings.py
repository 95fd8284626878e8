"""The section on rankings: how alike the templates of a task rank the models."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import Column, bounds, counted, figure, judge_errors, table, words
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import number, signed
from promptaudit.warehouse import Row

LEAST_MODELS = 3


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    columns = (
        words("Scored by", "scoring_method"),
        words("Model set", "model_set"),
        judge_errors(data.judging),
        counted("Models", "n_models"),
        counted("Templates", "n_variants"),
        _correlation("Mean Spearman", "mean_spearman", "n_pairs"),
        figure("Without luck", "mean_spearman_corrected"),
        bounds("mean_spearman_corrected"),
        figure("More than by the rule", "difference_from_rule", _difference),
        bounds("difference_from_rule"),
        figure("Textbook formula", "mean_spearman_textbook"),
        counted("Pairs", "n_pairs"),
        counted("Undefined pairs", "n_undefined_pairs"),
        _correlation("Scored answers alone", "mean_spearman_scored", "n_pairs_scored"),
        counted("Pairs", "n_pairs_scored"),
    )
    for task_id, rows in by(data.judging.rankings, "task_id").items():
        is_few = any(row["is_of_few_models"] and row["mean_spearman"] is not None for row in rows)
        few = (
            "* This figure is of only three or four models, so one exchange of two ranks moves it far."
            if is_few
            else ""
        )
        caption = "Rank correlation over pairs of templates"
        section.add(task_id).tables.append(
            table(caption, columns, rows, "fct_ranking_consistency", is_open=True, note=few)
        )


def _correlation(heading: str, name: str, n_pairs: str) -> Column:
    return figure(heading, name, lambda of, name: of.cell(name, correlation(of.row, name, of.row[n_pairs])))


def _difference(of: Traced, name: str) -> Printed:
    return of.cell(name, signed(of.row[name]))


def correlation(row: Row, name: str, n_pairs: int | None) -> str:
    """Returns a mean correlation as it is printed, or why it is missing."""
    if row[name] is not None:
        return number(row[name]) + (" *" if row["is_of_few_models"] else "")
    if (row["n_models"] or 0) < LEAST_MODELS:
        return "needs three models"
    if (row["n_variants"] or 0) < 2:  # noqa: PLR2004 - a pair
        return "needs two templates"
    return "every pair undefined" if not n_pairs else number(None)


def _finding(data: ReportData) -> str:
    return ends(
        data, "Templates rank the models alike by", data.judging.rankings, "mean_spearman", "task_id", "scoring_method"
    )


rankings = Section(
    name="rankings",
    title="Rankings of models",
    intro=(
        "The Spearman correlation of the models' accuracies under two templates, as the mean over all pairs of "
        "templates. It is 1 where the models rank the same under every template. A pair is undefined where all "
        "models are alike under one of the two. By the luck of the questions alone, similar models rank "
        "differently; the figure without luck corrects for that, and its interval is for other questions. It is "
        "missing where the models cannot be told apart under any one template. Beside a judge's figure stands its "
        "difference from the rule's, over the answers that both scored."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
