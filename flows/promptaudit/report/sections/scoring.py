"""Builds the sections on scoring: accuracy by scoring method, rule against judge, tasks together, rankings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from promptaudit.report.blocks.blocks import DrawnSection, Panel, Table, keyed
from promptaudit.report.blocks.cells import Cell, Printed, Traced, parts
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData, is_judge, is_rule
from promptaudit.report.sections.columns import (
    MODEL,
    Column,
    Key,
    bounds,
    counted,
    figure,
    judge_errors,
    n_tasks,
    pivoted,
    table,
    words,
)
from promptaudit.report.sections.rule_against_judge import VERIFIED, conclusion, findings, why_no_share
from promptaudit.report.sections.run import options_of_import
from promptaudit.report.sections.section import Section, Task, note_some, point
from promptaudit.report.sections.words import ends, known_rows, whose, with_ends
from promptaudit.system.display.figures import ABSENT, count, cut, number, signed
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import row_id

ACROSS, SPREADS = "rpt_scoring_across_tasks", "fct_scoring_sensitivity"
RANKINGS, AGREEMENTS = "fct_ranking_consistency", "fct_judge_agreement"
SCORED_BY = words("Scored by", "scoring_method")

# rankings: how alike the templates of a task rank the models

LEAST_MODELS = 3
_OF_FEW = "* This figure is of only three or four models, so one exchange of two ranks moves it far."


def _fill_rankings(task: Task) -> None:
    columns = (
        *(SCORED_BY, words("Model set", "model_set"), judge_errors(task.data.judging)),
        *(counted("Models", "n_models"), counted("Templates", "n_variants")),
        _correlation("Mean Spearman", "mean_spearman", "n_pairs"),
        *(figure("Without luck", "mean_spearman_corrected"), bounds("mean_spearman_corrected")),
        *(figure("More than by the rule", "difference_from_rule", _difference), bounds("difference_from_rule")),
        *(figure("Textbook formula", "mean_spearman_textbook"), counted("Pairs", "n_pairs")),
        counted("Undefined pairs", "n_undefined_pairs"),
        _correlation("Scored answers alone", "mean_spearman_scored", "n_pairs_scored"),
        counted("Pairs", "n_pairs_scored"),
    )
    few = _OF_FEW if _are_few(task.rows) else ""
    task.table("Rank correlation over pairs of templates", columns, task.rows, RANKINGS, is_open=True, note=few)


def _are_few(rankings: Sequence[Row]) -> bool:
    return any(row["is_of_few_models"] and row["mean_spearman"] is not None for row in rankings)


def _correlation(heading: str, name: str, n_pairs: str) -> Column:
    return figure(heading, name, lambda of, name: of.cell(name, correlation(of.row, name, of.row[n_pairs])))


def _difference(of: Traced, name: str) -> Printed:
    return of.cell(name, signed(of.row[name]))


def correlation(row: Row, name: str, n_pairs: int | None) -> str:
    """Prints a mean correlation, or why it is missing."""
    if row[name] is not None:
        return number(row[name]) + (" *" if row["is_of_few_models"] else "")
    if (row["n_models"] or 0) < LEAST_MODELS:
        return "needs three models"
    if (row["n_variants"] or 0) < 2:  # noqa: PLR2004 - a pair
        return "needs two templates"
    return "every pair undefined" if not n_pairs else number(None)


rankings = Section(
    name="rankings",
    title="Rankings of models",
    intro="The Spearman correlation of the models' accuracies under two templates, as the mean over all pairs of "
    "templates. It is 1 where the models rank the same under every template. A pair is undefined where all "
    "models are alike under one of the two. By the luck of the questions alone, similar models rank "
    "differently; the figure without luck corrects for that, and its interval is for other questions. It is "
    "missing where the models cannot be told apart under any one template. Beside a judge's figure stands its "
    "difference from the rule's, over the answers that both scored.",
    rows=lambda data: data.judging.rankings,
    fill=_fill_rankings,
    finding=lambda data: ends(
        data, "Templates rank the models alike by", data.judging.rankings, "mean_spearman", "task_id", "scoring_method"
    ),
)

# across tasks: accuracy under each method, rankings of models, agreement of templates and of raters

ALL = "all"  # the set of all models
_HEADS = {"Task": "task_id", "Scored by": "scoring_method"}
_RATERS = (
    *(words("Task", "task_id", "all tasks"), words("Raters", "raters"), words("Kind", "kind")),
    counted("Answers", "n_rated"),
    *(figure("Agreement", "agreement_rate"), figure("Perfect agreement", "perfect_agreement_rate")),
    *(figure("Cohen's κ", "cohen_kappa"), figure("Fleiss' κ", "fleiss_kappa")),
    *(counted("Distinct answers", "n_rated_distinct"), figure("Cohen's κ, distinct", "cohen_kappa_distinct")),
)


def _across(section: DrawnSection, data: ReportData) -> None:
    spreads, ranked = data.judging.spreads, data.judging.rankings
    tasks = {row["task_id"] for row in spreads}
    rows = [row for row in data["scoring_across_tasks"] if row["task_id"] in tasks and row["accuracy_mean"] is not None]
    if n_tasks(rows) < 2:  # noqa: PLR2004 - of one task the sections below have it all
        return
    references = {row["model_id"] for row in rows if row["is_reference"]}
    own = [{**row, "is_reference": row["model_id"] in references} for row in spreads]
    block = section.add()
    block.tables.append(_accuracies(rows, ranked))
    if compared := [row for row in rows if row["mean_difference"] is not None]:
        block.tables.append(
            pivoted(
                "Difference to the rule: mean / standard deviation",
                {**_HEADS, "Rule": "rule"},
                compared,
                _two(ACROSS, "mean_difference", "std_difference"),
                note="A figure below 0 is lower than under the rule. A judge that errs makes the standard deviation smaller too.",
                file="difference-to-the-rule",
                is_open=False,
            )
        )
    few = " * marks a figure of only three or four models." if _are_few(ranked) else ""
    block.tables += [
        pivoted(
            "Rankings of models: mean Spearman correlation over pairs of templates, by set of models",
            _HEADS,
            ranked,
            lambda row: (_spearman(row), " (", Traced(RANKINGS, row).count("n_models"), ")"),
            across="model_set",
            note=f"The number of models is in brackets.{few}",
            file="rankings",
        ),
        pivoted(
            "Agreement of templates on which answers are right: Fleiss' κ / perfect agreement",
            _HEADS,
            own,
            _two(SPREADS, "fleiss_kappa", "perfect_agreement_rate", Traced.share),
            note="Perfect agreement is the share of samples that are right under all templates, or wrong under all.",
            file="agreement-of-templates",
            is_open=False,
        ),
    ]
    if agreements := data.judging.agreements:
        note = (
            "Perfect agreement is the share of answers on which all say the same. Each answer counts, also where several say "
            "the same; the last two columns count these once."
        )
        caption, file = "Agreement of raters", "agreement-of-raters"
        block.tables.append(table(caption, _RATERS, agreements, AGREEMENTS, n_heads=3, note=note, file=file))


def _accuracies(rows: Sequence[Row], rankings: Sequence[Row]) -> Table:
    of_all = keyed([row for row in rankings if row["model_set"] == ALL], "task_id", "scoring_method")

    def spearman(key: Key) -> Printed:
        row = of_all.get(key)
        return ABSENT if row is None else _spearman(row)

    marked = any(row["n_ranked"] > 1 for row in rows)
    best = "The most accurate model of a line and the smallest standard deviation are in bold. " if marked else ""
    note = f"{best}Mean Spearman: how alike the templates rank all models."
    caption, last = "Accuracy, mean ± standard deviation over templates (ddof 1)", {"Mean Spearman": spearman}
    return pivoted(caption, _HEADS, rows, _accuracy, last=last, note=note, file="accuracy")


def _accuracy(row: Row) -> Printed:
    of, is_ranked = Traced(ACROSS, row), row["n_ranked"] > 1
    mean = of.number("accuracy_mean", is_strong=row["is_best"] and is_ranked)
    if row["accuracy_std_sample"] is None:
        return mean
    return mean, " ± ", of.number("accuracy_std_sample", is_strong=row["is_steadiest"] and is_ranked)


def _spearman(row: Row) -> Cell:
    return Traced(RANKINGS, row).cell("mean_spearman", correlation(row, "mean_spearman", row["n_pairs"]))


def _two(
    mart: str, first: str, second: str, kind: Callable[[Traced, str], Cell] = Traced.number
) -> Callable[[Row], Printed]:
    return lambda row: (Traced(mart, row).number(first), " / ", kind(Traced(mart, row), second))


scoring_across_tasks = Section(
    name="scoring_across_tasks",
    title="Scoring across tasks",
    intro="Accuracy over templates under each scoring method, how alike templates rank the models, and how far templates, judges "
    "and people agree on which answers are right.",
    queries=("scoring_across_tasks",),
    whole=_across,
    finding=lambda data: ends(
        data, "Mean accuracy", data["scoring_across_tasks"], "accuracy_mean", "model_id", "task_id", "scoring_method"
    ),
)

# accuracy and its spread over templates by scoring method, and what a judge removes of a rule's

MOST_DRAWN_TASKS = 20  # two charts each, about a tenth of a second a chart
MOST_COMPARED = 100  # a task
_VOUCHED = (
    ("accuracy_rectified", "accuracy", "number"),
    ("spread_judge_rectified", "corrected spread", "number"),
    ("share_removed_rectified", "share removed", "share"),
)
_RECTIFIED = (
    *(MODEL, SCORED_BY, figure("Rectified mean", "accuracy_rectified"), bounds("accuracy_rectified")),
    *(counted("Ruled by people", "n_ruled"), figure("Rectified std", "accuracy_std_rectified")),
    bounds("accuracy_std_rectified"),
)


def _title(data: ReportData) -> str:
    return "Scoring: rule against judge" if data.judging.comparisons else "Accuracy by scoring method"


def _intro(data: ReportData) -> str:
    intro = (
        "The same answers, scored by different methods. The corrected spread is how far accuracy varies over templates "
        "beyond what chance gives. An answer that cannot be read counts as not right; a model that weighs no options has no "
        "figure by a rule that weighs them."
    )
    if data.judging.comparisons:
        intro += " The part of a rule's spread that a judge which rarely errs does not see comes from the rule."
    if scale := options_of_import(data).get("scale"):
        low, high = scale
        intro += f" A recording program's grades are on {low:g} to {high:g}, shown as shares of that scale."
    return intro


def _fill_scoring(task: Task) -> None:
    judging, block, rows = task.data.judging, task.block, task.rows
    errors = judging.errors
    own = [row for row in judging.comparisons if row["task_id"] == block.task_id]
    block.findings = findings(own)
    unverified = {row["judge"] for row in own if row["judge_state"] != VERIFIED}
    unverified |= {row["scoring_method"] for row in rows if row.get("judge_state") not in (None, VERIFIED)}
    if list(dict.fromkeys(row["task_id"] for row in judging.spreads)).index(block.task_id) < MOST_DRAWN_TASKS:
        _draw(task, errors, unverified)
    else:
        block.notes.append(f"Charts are drawn of the first {MOST_DRAWN_TASKS} tasks; the figures below hold all.")
    block.comparisons = [_comparison(row, errors) for row in own[:MOST_COMPARED]]
    if len(own) > MOST_COMPARED:
        first = f"The first {MOST_COMPARED} of {len(own):,} comparisons"
        block.notes.append(f"{first}; the table marts.rpt_rule_against_judge has the rest.")
    columns = (
        *(MODEL, SCORED_BY, judge_errors(judging), counted("Templates", "n_variants"), counted("Samples", "n_samples")),
        *(figure("Mean accuracy", "accuracy_mean"), figure("std (ddof 0)", "accuracy_std")),
        *(figure("std (ddof 1)", "accuracy_std_sample"), figure("Range", "accuracy_range")),
        *(figure("Corrected std", "accuracy_std_corrected"), bounds("accuracy_std_corrected")),
        figure("Scored answers alone: mean", "accuracy_scored_mean"),
        figure("std (ddof 1)", "accuracy_scored_std_sample"),
        *(figure("Corrected std", "accuracy_scored_std_corrected"), bounds("accuracy_scored_std_corrected")),
    )
    task.table("Spread of accuracy over templates", columns, rows, SPREADS)
    ruled = [row for row in rows if row.get("n_ruled")]
    task.table("Accuracy that people would give, and its spread", _RECTIFIED, ruled, SPREADS)


def drawn_methods(methods: Sequence[str]) -> list[str]:
    """Chooses the scoring methods that fit a chart, rules first: two rules and two judges before more of either."""
    rules, judges = [m for m in methods if is_rule(m)], [m for m in methods if not is_rule(m)]
    room = len(panels.SERIES)
    n_rules = min(len(rules), max(room // 2, room - len(judges)))
    return rules[:n_rules] + judges[: room - n_rules]


def _draw(task: Task, errors: dict[tuple[str, str], str], unverified: set[str]) -> None:
    rows, block = task.rows, task.block
    everything = list(dict.fromkeys(row["scoring_method"] for row in sorted(rows, key=_judges_last)))
    methods = drawn_methods(everything)
    models = list(dict.fromkeys(row["model_id"] for row in rows))
    shown = models[: panels.MOST_BARS]
    own = [row for row in rows if row["scoring_method"] in methods and row["model_id"] in shown]
    meanings = [_legend(block.task_id, method, errors, unverified) for method in methods]
    block.legend = tuple(zip(panels.SERIES, meanings, strict=False))
    if len(methods) < len(everything) or len(shown) < len(models):
        of_models = f"{len(shown)} of {len(models)} models are drawn"
        note_some(block, f"{len(methods)} of {len(everything)} scoring methods and {of_models}")
    about = f"{task.name}: {len(shown)} models by {', '.join(cut(method, 60) for method in methods)}"
    over = f"over {count(max((row['n_variants'] or 0 for row in own), default=0))} templates"
    accuracies = [
        _point(row, "accuracy_mean") | _around(row["accuracy_mean"], row["accuracy_std_sample"]) for row in own
    ]
    label = f"{about}: mean accuracy ± standard deviation."
    drawing = panels.ranges(accuracies, methods, (0.0, 1.0), "accuracy", label)
    block.panels.append(Panel("Accuracy", "mean ± standard deviation", over, drawing))
    spreads = [_point(row, "accuracy_std_corrected") for row in own]
    if any(row["value"] is not None for row in spreads):
        most = max(row["high"] or row["value"] or 0 for row in spreads)
        domain = (0.0, max(0.05, math.ceil(most * 20) / 20))
        label = f"{about}: corrected spread over templates."
        drawing = panels.ranges(spreads, methods, domain, "corrected spread", label)
        block.panels.append(Panel("Corrected spread", "over templates", "with its 95 % interval", drawing))


def _judges_last(row: Row) -> tuple[bool, bool]:
    method = row["scoring_method"]
    return not is_rule(method), not is_judge(method)  # people last


def _point(row: Row, name: str) -> Row:
    return point(SPREADS, row, name, name=row["model_id"], series=row["scoring_method"])


def _around(mean: float | None, std: float | None) -> Row:
    if mean is None or std is None:
        return {"low": None, "high": None}
    return {"low": max(0.0, mean - std), "high": min(1.0, mean + std)}


def _legend(task_id: str, method: str, errors: dict[tuple[str, str], str], unverified: set[str]) -> str:
    name = cut(method, 60)
    if not is_judge(method):
        return name
    state = ", judge_unverified" if method in unverified else ""
    return f"{name}{state}; wrong on controls: {errors.get((task_id, method), 'none shown')}"


def _comparison(row: Row, errors: dict[tuple[str, str], str]) -> Row:
    # figures with what stands below each: its interval, its standard deviation, or why it is missing
    of = Traced("rpt_rule_against_judge", row)
    stds = {who: row[f"accuracy_std_{who}"] for who in ("rule", "judge")}
    removed: tuple[Printed, Printed] = of.share("share_removed"), of.bounds("share_removed", "share")
    if row["share_removed"] is None:
        removed = of.cell("share_removed", ABSENT), why_no_share(row)
    vouching: list[Printed] = [f"wrong on controls: {errors.get((row['task_id'], row['judge']), 'none shown')}"]
    if row.get("n_ruled"):
        vouching.append((of.count("n_ruled"), " answers that people ruled on"))
    for name, words_of, kind in _VOUCHED:
        if row.get(name) is not None:
            figure = getattr(of, kind)(name)
            vouching.append((f"rectified: {words_of} ", figure, " ", *parts(of.bounds(name, kind))))
    return {
        **row,
        "figures": [
            *((of.number(f"accuracy_{who}"), "" if std is None else f"± {number(std)}") for who, std in stds.items()),
            *((of.number(name), of.bounds(name)) for name in ("spread_rule", "spread_judge", "difference")),
            removed,
        ],
        "is_verified": row["judge_state"] == VERIFIED,
        "vouching": vouching,
        "sentence": conclusion(row),
        "row": row_id("rpt_rule_against_judge", row),
    }


def _whose_spread(data: ReportData) -> str:
    if found := findings(data.judging.comparisons):
        return f"{found[0][0]}: {found[0][1]}"
    known = known_rows(data, data.judging.spreads, "accuracy_std_corrected")
    if not known:
        return ""
    worst = max(known, key=lambda row: row["accuracy_std_corrected"])
    of, spread = whose(worst, "model_id", "task_id", "scoring_method"), with_ends(worst, "accuracy_std_corrected")
    return f"Accuracy varies most between templates for {of}: {spread}"


scoring = Section(
    name="scoring",
    title=_title,
    intro=_intro,
    rows=lambda data: data.judging.spreads,
    fill=_fill_scoring,
    finding=_whose_spread,
)
