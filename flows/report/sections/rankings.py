"""The section on rankings: how alike the templates of a task rank the models."""

from __future__ import annotations

from flows.display.figures import number
from flows.report.blocks.blocks import Block, Section, Table, by_task, limited
from flows.report.blocks.cells import Printed, Traced
from flows.report.gather import Gathered
from flows.report.gather_judged import control_errors
from flows.warehouse import Row

LEAST_MODELS = 3


def rankings(found: Gathered) -> Section:
    """Mean Spearman correlation over pairs of templates, by scoring method and set of models."""
    section = Section(
        "rankings",
        "Rankings of models",
        "Spearman correlation of the models' accuracies under two templates, as the mean over all pairs of templates. "
        "1: whichever template, the models rank the same. A pair is undefined where all models are alike under one of the two.",
    )
    errors = control_errors(found.judged.controls)
    for task_id, rows in by_task(found.judged.rankings).items():
        block = Block(task_id=task_id)
        section.blocks.append(block)
        lines: list[tuple[Printed, ...]] = []
        for row in rows:
            of = Traced("fct_ranking_consistency", row)
            mean = of.cell("mean_spearman", correlation(row, "mean_spearman", row["n_pairs"]))
            scored = of.cell("mean_spearman_scored", correlation(row, "mean_spearman_scored", row["n_pairs_scored"]))
            lines.append(
                (row["scoring_method"], row["model_set"], errors.get((task_id, row["scoring_method"]), ""),
                 of.count("n_models"), of.count("n_variants"), mean, of.number("mean_spearman_textbook"), of.count("n_pairs"),
                 of.count("n_undefined_pairs"), scored, of.count("n_pairs_scored"))
            )  # fmt: skip
        kept, note = limited(lines)
        is_few = any(row["is_of_few_models"] and row["mean_spearman"] is not None for row in rows)
        few = "* of three or four models alone, where one exchange of two ranks moves it far." if is_few else ""
        note = " ".join(part for part in (few, note) if part)
        columns = (
            "Scored by", "Model set", "Judge wrong on controls", "Models", "Templates", "Mean Spearman", "Textbook formula",
            "Pairs", "Undefined pairs", "Scored answers alone", "Pairs",
        )  # fmt: skip
        block.tables.append(
            Table(
                caption="Rank correlation over pairs of templates",
                columns=columns,
                rows=kept,
                n_heads=2,
                n_figures=8,
                is_open=True,
                note=note,
            )
        )
    return section


def correlation(row: Row, name: str, n_pairs: int | None) -> str:
    """The figure, or why it is missing."""
    if row[name] is not None:
        return number(row[name]) + (" *" if row["is_of_few_models"] else "")
    if (row["n_models"] or 0) < LEAST_MODELS:
        return "needs three models"
    if (row["n_variants"] or 0) < 2:  # noqa: PLR2004 - a pair
        return "needs two templates"
    return "every pair undefined" if not n_pairs else number(None)
