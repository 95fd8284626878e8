"""The section on scoring across tasks: accuracy under each method, rankings of models, agreement of templates and of raters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptaudit.report.blocks.blocks import DrawnSection, Table
from promptaudit.report.blocks.cells import Cell, Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import Column, counted, figure, table, words
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.pivots import Key, Pivot, n_tasks, pivoted
from promptaudit.report.sections.rankings import correlation
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import ABSENT
from promptaudit.warehouse import Row

MART, SPREADS, RANKINGS, AGREEMENTS = (
    "rpt_scoring_across_tasks",
    "fct_scoring_sensitivity",
    "fct_ranking_consistency",
    "fct_judge_agreement",
)
ALL = "all"  # the set of all models
_HEADS = {"Task": "task_id", "Scored by": "scoring_method"}
_RATERS = (
    Column("Task", lambda of: of.row["task_id"] or "all tasks"),
    words("Raters", "raters"),
    words("Kind", "kind"),
    counted("Answers", "n_rated"),
    figure("Agreement", "agreement_rate"),
    figure("Perfect agreement", "perfect_agreement_rate"),
    figure("Cohen's κ", "cohen_kappa"),
    figure("Fleiss' κ", "fleiss_kappa"),
    counted("Distinct answers", "n_rated_distinct"),
    figure("Cohen's κ, distinct", "cohen_kappa_distinct"),
)


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    tasks = {row["task_id"] for row in data.judging.spreads}
    rows = [row for row in data["scoring_across_tasks"] if row["task_id"] in tasks and row["accuracy_mean"] is not None]
    if n_tasks(rows) < 2:  # noqa: PLR2004 - of one task the sections below have it all
        return
    block = section.add()
    references = {row["model_id"] for row in rows if row["is_reference"]}
    compared = [row for row in rows if row["mean_difference"] is not None]
    block.tables = [
        _accuracies(rows, data.judging.rankings),
        *([_differences(compared)] if compared else []),
        _rankings(data.judging.rankings),
        _templates([{**row, "is_reference": row["model_id"] in references} for row in data.judging.spreads]),
    ]
    if data.judging.agreements:
        note = (
            "Perfect agreement is the share of answers on which all say the same. Each answer counts, also where several say "
            "the same; the last two columns count these once."
        )
        raters = table("Agreement of raters", _RATERS, data.judging.agreements, AGREEMENTS, n_heads=3, note=note)
        block.tables.append(replace(raters, file="agreement-of-raters"))


def _accuracies(rows: Sequence[Row], rankings: Sequence[Row]) -> Table:
    of_all: dict[Key, Row] = {
        (row["task_id"], row["scoring_method"]): row for row in rankings if row["model_set"] == ALL
    }

    def spearman(key: Key) -> Printed:
        row = of_all.get(key)
        return ABSENT if row is None else _spearman(row)

    marked = any(row["n_ranked"] > 1 for row in rows)
    best = "The most accurate model of a line and the smallest standard deviation are in bold. " if marked else ""
    return pivoted(
        Pivot(
            caption="Accuracy, mean ± standard deviation over templates (ddof 1)",
            heads=_HEADS,
            cell=_accuracy,
            last={"Mean Spearman": spearman},
            note=f"{best}Mean Spearman: how alike the templates rank all models.",
            file="accuracy",
        ),
        rows,
    )


def _accuracy(row: Row) -> Printed:
    of, is_ranked = Traced(MART, row), row["n_ranked"] > 1
    mean = of.number("accuracy_mean", is_strong=row["is_best"] and is_ranked)
    if row["accuracy_std_sample"] is None:
        return mean
    return mean, " ± ", of.number("accuracy_std_sample", is_strong=row["is_steadiest"] and is_ranked)


def _differences(rows: Sequence[Row]) -> Table:
    def difference(row: Row) -> Printed:
        of = Traced(MART, row)
        return of.number("mean_difference"), " / ", of.number("std_difference")

    return pivoted(
        Pivot(
            caption="Difference to the rule: mean / standard deviation",
            heads={"Task": "task_id", "Scored by": "scoring_method", "Rule": "rule"},
            cell=difference,
            note=(
                "A figure below 0 is lower than under the rule. A judge that errs makes the standard deviation smaller "
                "too."
            ),
            file="difference-to-the-rule",
            is_open=False,
        ),
        rows,
    )


def _rankings(rankings: Sequence[Row]) -> Table:
    few = any(row["is_of_few_models"] and row["mean_spearman"] is not None for row in rankings)
    return pivoted(
        Pivot(
            caption="Rankings of models: mean Spearman correlation over pairs of templates, by set of models",
            heads=_HEADS,
            across="model_set",
            cell=lambda row: (_spearman(row), " (", Traced(RANKINGS, row).count("n_models"), ")"),
            note="The number of models is in brackets."
            + (" * marks a figure of only three or four models." if few else ""),
            file="rankings",
        ),
        rankings,
    )


def _spearman(row: Row) -> Cell:
    return Traced(RANKINGS, row).cell("mean_spearman", correlation(row, "mean_spearman", row["n_pairs"]))


def _templates(spreads: Sequence[Row]) -> Table:
    def agreement(row: Row) -> Printed:
        of = Traced(SPREADS, row)
        return of.number("fleiss_kappa"), " / ", of.share("perfect_agreement_rate")

    return pivoted(
        Pivot(
            caption="Agreement of templates on which answers are right: Fleiss' κ / perfect agreement",
            heads=_HEADS,
            cell=agreement,
            note="Perfect agreement is the share of samples that are right under all templates, or wrong under all.",
            file="agreement-of-templates",
            is_open=False,
        ),
        spreads,
    )


def _finding(data: ReportData) -> str:
    return ends(
        data, "Mean accuracy", data["scoring_across_tasks"], "accuracy_mean", "model_id", "task_id", "scoring_method"
    )


scoring_across_tasks = Section(
    name="scoring_across_tasks",
    title="Scoring across tasks",
    intro=(
        "Accuracy over templates under each scoring method, how alike templates rank the models, and how far templates, judges "
        "and people agree on which answers are right."
    ),
    fill=_fill,
    finding=_finding,
    queries=("scoring_across_tasks",),
    is_optional=True,
)
