"""The section on scoring: accuracy and its spread over templates by scoring method, and what a judge removes of a rule's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from promptaudit.report.blocks.blocks import Block, Comparison, DrawnSection, Figure, Panel, by
from promptaudit.report.blocks.cells import Printed, Traced, parts
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.gather_judging import is_judge, is_rule
from promptaudit.report.sections.columns import MODEL, bounds, counted, figure, judge_errors, table, words
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.identity import options_of_import
from promptaudit.report.sections.room import Room, point
from promptaudit.report.sections.rule_against_judge import VERIFIED, conclusion, findings, why_no_share
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import ABSENT, NAME, count, cut, number, ranged
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import row_id

MART = "fct_scoring_sensitivity"
MOST_DRAWN_TASKS = 20  # two charts each, about a tenth of a second a chart
MOST_COMPARED = 100  # a task


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    judging = data.judging
    if judging.comparisons:
        section.title = "Scoring: rule against judge"
        section.intro += " The part of a rule's spread that a judge which rarely errs does not see comes from the rule."
    if scale := options_of_import(data).get("scale"):
        low, high = scale
        section.intro += f" A recording program's grades are on {low:g} to {high:g}, shown as shares of that scale."
    compared, errors = by(judging.comparisons, "task_id"), judging.errors
    columns = (
        MODEL,
        words("Scored by", "scoring_method"),
        judge_errors(judging),
        counted("Templates", "n_variants"),
        counted("Samples", "n_samples"),
        figure("Mean accuracy", "accuracy_mean"),
        figure("std (ddof 0)", "accuracy_std"),
        figure("std (ddof 1)", "accuracy_std_sample"),
        figure("Range", "accuracy_range"),
        figure("Corrected std", "accuracy_std_corrected"),
        bounds("accuracy_std_corrected"),
        figure("Scored answers alone: mean", "accuracy_scored_mean"),
        figure("std (ddof 1)", "accuracy_scored_std_sample"),
        figure("Corrected std", "accuracy_scored_std_corrected"),
        bounds("accuracy_scored_std_corrected"),
    )
    rectified = (
        MODEL,
        words("Scored by", "scoring_method"),
        figure("Rectified mean", "accuracy_rectified"),
        bounds("accuracy_rectified"),
        counted("Ruled by people", "n_ruled"),
        figure("Rectified std", "accuracy_std_rectified"),
        bounds("accuracy_std_rectified"),
    )
    for task_id, rows in by(judging.spreads, "task_id").items():
        block = section.add(task_id)
        own = compared.get(task_id, [])
        block.findings = findings(own)
        unverified = {row["judge"] for row in own if row["judge_state"] != VERIFIED}
        unverified |= {row["scoring_method"] for row in rows if row.get("judge_state") not in (None, VERIFIED)}
        if len(section.blocks) <= MOST_DRAWN_TASKS:
            _draw(block, rows, errors, unverified)
        else:
            block.notes.append(f"Charts are drawn of the first {MOST_DRAWN_TASKS} tasks; the figures below hold all.")
        block.comparisons = [_comparison(row, errors) for row in own[:MOST_COMPARED]]
        if len(own) > MOST_COMPARED:
            block.notes.append(
                f"The first {MOST_COMPARED} of {len(own):,} comparisons; the table marts.rpt_rule_against_judge has the rest."
            )
        block.tables.append(table("Spread of accuracy over templates", columns, rows, MART))
        if ruled := [row for row in rows if row.get("n_ruled")]:
            block.tables.append(table("Accuracy that people would give, and its spread", rectified, ruled, MART))


def drawn_methods(methods: Sequence[str]) -> list[str]:
    """Returns the scoring methods that a chart has room for, rules first: two rules and two judges before more of either."""
    rules, judges = [m for m in methods if is_rule(m)], [m for m in methods if not is_rule(m)]
    room = len(panels.SERIES)
    n_rules = min(len(rules), max(room // 2, room - len(judges)))
    return rules[:n_rules] + judges[: room - n_rules]


def _draw(block: Block, rows: list[Row], errors: dict[tuple[str, str], str], unverified: set[str]) -> None:
    everything = list(dict.fromkeys(row["scoring_method"] for row in sorted(rows, key=_judges_last)))
    methods = drawn_methods(everything)
    models = list(dict.fromkeys(row["model_id"] for row in rows))
    shown = models[: panels.MOST_BARS]
    own = [row for row in rows if row["scoring_method"] in methods and row["model_id"] in shown]
    block.legend = tuple(
        (colour, _legend(block.task_id, method, errors, unverified))
        for colour, method in zip(panels.SERIES, methods, strict=False)
    )
    if len(methods) < len(everything) or len(shown) < len(models):
        block.notes.append(
            f"{len(methods)} of {len(everything)} scoring methods and {len(shown)} of {len(models)} models are drawn; the "
            "figures below hold all of them."
        )
    about = f"{cut(block.task_id, NAME)}: {len(shown)} models by {', '.join(cut(method, 60) for method in methods)}"
    n_variants = max((row["n_variants"] or 0 for row in own), default=0)
    accuracies = [
        _point(row, "accuracy_mean") | _around(row["accuracy_mean"], row["accuracy_std_sample"]) for row in own
    ]
    drawing = panels.ranges(
        accuracies, methods, (0.0, 1.0), "accuracy", f"{about}: mean accuracy ± standard deviation."
    )
    block.panels.append(Panel("Accuracy", "mean ± standard deviation", f"over {count(n_variants)} templates", drawing))
    spreads = [_point(row, "accuracy_std_corrected") for row in own]
    if any(row["value"] is not None for row in spreads):
        most = max(row["high"] or row["value"] or 0 for row in spreads)
        domain = (0.0, max(0.05, math.ceil(most * 20) / 20))
        drawing = panels.ranges(
            spreads, methods, domain, "corrected spread", f"{about}: corrected spread over templates."
        )
        block.panels.append(Panel("Corrected spread", "over templates", "with its 95 % interval", drawing))


def _judges_last(row: Row) -> tuple[bool, bool]:
    method = row["scoring_method"]
    return not is_rule(method), not is_judge(method)  # people last


def _point(row: Row, name: str) -> Row:
    return point(MART, row, name, name=row["model_id"], series=row["scoring_method"])


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


def _comparison(row: Row, errors: dict[tuple[str, str], str]) -> Comparison:
    of = Traced("rpt_rule_against_judge", row)

    def accuracy(who: str) -> Figure:
        std = row[f"accuracy_std_{who}"]
        return Figure(of.number(f"accuracy_{who}"), "" if std is None else f"± {number(std)}")

    def spread(name: str) -> Figure:
        return Figure(of.number(name), of.bounds(name))

    removed = Figure(of.share("share_removed"), of.bounds("share_removed", "share"))
    if row["share_removed"] is None:
        removed = Figure(of.cell("share_removed", ABSENT), why_no_share(row))
    is_verified = row["judge_state"] == VERIFIED
    vouching: list[Printed] = [f"wrong on controls: {errors.get((row['task_id'], row['judge']), 'none shown')}"]
    if row.get("n_ruled"):
        vouching.append((of.count("n_ruled"), " answers that people ruled on"))
    for name, words_of in (("accuracy_rectified", "accuracy"), ("spread_judge_rectified", "corrected spread")):
        if row.get(name) is not None:
            vouching.append((f"rectified: {words_of} ", of.number(name), " ", *parts(of.bounds(name))))
    if row["share_removed_rectified"] is not None:
        bounds = parts(of.bounds("share_removed_rectified", "share"))
        vouching.append(("rectified: share removed ", of.share("share_removed_rectified"), " ", *bounds))
    figures = (
        accuracy("rule"),
        accuracy("judge"),
        spread("spread_rule"),
        spread("spread_judge"),
        spread("difference"),
        removed,
    )
    name = row_id("rpt_rule_against_judge", row)
    return Comparison(
        model_id=row["model_id"],
        rule=row["rule"],
        judge=row["judge"],
        figures=figures,
        is_verified=is_verified,
        vouching=tuple(vouching),
        sentence=conclusion(row),
        row=name,
    )


def _finding(data: ReportData) -> str:
    if told := findings(data.judging.comparisons):
        return f"{told[0][0]}: {told[0][1]}"
    worst = largest(known_rows(data, data.judging.spreads, "accuracy_std_corrected"), "accuracy_std_corrected")
    if worst is None:
        return ""
    spread = ranged(*(worst[f"accuracy_std_corrected{end}"] for end in ("", "_low", "_high")))
    return (
        f"Accuracy varies most between templates for {whose(worst, 'model_id', 'task_id', 'scoring_method')}: {spread}"
    )


scoring = Section(
    name="scoring",
    title="Accuracy by scoring method",
    intro=(
        "The same answers, scored by different methods. The corrected spread is how far accuracy varies over templates "
        "beyond what chance gives. An answer that cannot be read counts as not right; a model that weighs no options has no "
        "figure by a rule that weighs them."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
