"""Builds the sections on sensitivity: by sample, by class, example labels, against consistency, by wordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from promptaudit.report.blocks.blocks import by, by_columns, by_pair, group_of, keyed
from promptaudit.report.blocks.cells import Part, Traced
from promptaudit.report.charts import panels
from promptaudit.report.charts import samples as charts
from promptaudit.report.charts.panels import MOST_BARS, STABLE, Axes, Domain, curves, domain_of
from promptaudit.report.data import ReportData
from promptaudit.report.queries import SAMPLED
from promptaudit.report.sections.columns import (
    MODEL,
    N_SAMPLES,
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    words,
)
from promptaudit.report.sections.section import Chart, Drawn, Section, Task, point
from promptaudit.report.sections.words import (
    class_of,
    ends,
    known_rows,
    of_extreme,
    renamed,
    whose,
    why_one_variant,
)
from promptaudit.system.display.figures import NAME, count, cut, number, span
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

# by sample

BINARY = 2
CEILING = (
    "Where every answer is one of two labels, sensitivity reaches at most 0.631 (ln 2 / ln 3): an answer that "
    "is no label is a class too, and 1 needs as many of those as of either label."
)
_OVER_SAMPLES = (
    *(MODEL, STRATEGY, N_SAMPLES, figure("At 0", "steady_rate", Traced.percent), figure("Least", "sensitivity_min")),
    *(figure("Lower quartile", "sensitivity_p25"), figure("Median", "sensitivity_p50")),
    *(figure("Upper quartile", "sensitivity_p75"), figure("Most", "sensitivity_max")),
    figure("Mean", "sensitivity_mean"),
)
_UNSURE = (
    *(MODEL, STRATEGY, figure("Sensitivity", "sensitivity")),
    figure("Output uncertainty, nats a token", "output_uncertainty"),
)


def _fill_sensitivity(task: Task) -> None:
    spread, bins_of = keyed(task.rows, "model_id", "strategy"), task.of("sensitivity")
    labels = next((row["labels"] for row in task.data.tasks if row["task_id"] == task.block.task_id), None)
    if len(labels or ()) == BINARY:
        task.block.notes.append(CEILING)
    most = max((row["n"] for row in bins_of), default=0)

    def histogram(bins: list[Row], who: str) -> Drawn:
        row = spread[bins[0]["model_id"], bins[0]["strategy"]]
        middle = f"mean {number(row['sensitivity_mean'])}, median {number(row['sensitivity_p50'])}"
        label = f"{who}: histogram of sensitivity over {row['n_samples']:,} samples: {middle}, {row['n_steady']:,} samples at 0."
        return middle, panels.histogram(bins, row["sensitivity_mean"], label, most)

    task.draw_pairs(histogram, bins_of)
    task.table("Sensitivity over samples", _OVER_SAMPLES, list(spread.values()), "rpt_sample_spreads")
    unsure = [row for row in task.scored if row["output_uncertainty"] is not None]
    caption = "Sensitivity beside the uncertainty that token probabilities show"
    task.table(caption, _UNSURE, unsure, "rpt_audit", most=task.n_rows)


def _wavering(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["sample_spreads"], "n_steady") if row["n_samples"]]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: 1 - row["n_steady"] / row["n_samples"])
    n = worst["n_samples"] - worst["n_steady"]
    if not n:
        if all(row["invalid_rate"] == 1 for row in known_rows(data, data.scorecard, "sensitivity")):
            return "No answer gives a label, so that none changes"
        return f"No sample changes its label with the {data.word}"
    of = f"{count(n)} of {count(worst['n_samples'])} samples"
    return f"{of} change their label with the {data.word} for {whose(worst)}"


sensitivity = Section(
    name="sensitivity",
    title="Sensitivity by sample",
    intro="It is 0 where every wording gives a sample the same label, and 1 where all labels are equally likely. The "
    "dashed rule is the mean.",
    queries=("sample_spreads", "sensitivity"),
    rows=lambda data: [row for row in data["sample_spreads"] if row["n_samples"]],
    of_labels=True,
    absent=lambda task: why_one_variant(task.scored, "sensitivity"),
    fill=_fill_sensitivity,
    finding=_wavering,
)

# by class: what a chart draws, with its heading and column

_QUANTILES = {
    "low": ("5 %", "sensitivity_p05"),
    "lower": ("Lower quartile", "sensitivity_p25"),
    "median": ("Median", "sensitivity_p50"),
    "upper": ("Upper quartile", "sensitivity_p75"),
    "high": ("95 %", "sensitivity_p95"),
}
_BY_CLASS = (
    *(MODEL, STRATEGY, words("Gold label", "gold_label"), N_SAMPLES),
    *(figure(*own) for own in _QUANTILES.values()),
    figure("Mean", "sensitivity_mean"),
)


def _fill_classes(task: Task) -> None:
    mart, shown = "rpt_class_sensitivities", task.strategies()
    quantiles = {name: column for name, (_, column) in _QUANTILES.items()}
    fields = {"name": "gold_label", "series": "strategy", "n": "n_samples", **quantiles}

    def boxes(rows: list[Row], who: str) -> Drawn:
        everything = list(dict.fromkeys(row["gold_label"] for row in rows))
        names = everything[:MOST_BARS]
        drawn = [
            renamed(row, fields) | {"figure": figure_id(mart, row, "sensitivity_p50")}
            for row in rows
            if row["gold_label"] in names and row["strategy"] in shown
        ]
        most = max(rows, key=lambda row: row["sensitivity_mean"])
        largest = f"largest mean {number(most['sensitivity_mean'])}"
        of_whom = f"of {cut(most['gold_label'], NAME)} under {cut(most['strategy'], NAME)}"
        label = f"{who}: sensitivity of {len(names)} classes by strategy; {largest}, {of_whom}."
        some = "" if len(names) == len(everything) else f"the first {len(names)} of {len(everything)} classes; "
        return f"{some}{largest}", charts.boxes(drawn, names, shown, label)

    task.draw_models("by class", boxes)
    caption = "Sensitivity over the samples of each class"
    task.table(caption, _BY_CLASS, task.rows, mart, n_heads=3, most=task.n_rows)


def _why_no_class(task: Task) -> str:
    if task.of("sensitivity"):
        return "No sample of this task has a gold label, so there are no classes."
    return why_one_variant(task.scored, "sensitivity")


@of_extreme(lambda data: data["sensitivity_by_class"], "sensitivity_mean")
def _worst_class(worst: Row, data: ReportData) -> str:
    if not worst["sensitivity_mean"]:
        return f"No class depends on the {data.word}"
    figure = f"{number(worst['sensitivity_mean'])} for {whose(worst)}"
    return f"{class_of(worst)} depends most on the {data.word}: {figure}"


sensitivity_by_class = Section(
    name="sensitivity_by_class",
    title="Sensitivity by class",
    intro="For the samples of each gold label, the tick is the median, the bar is the middle half, and the line is "
    "the middle nine tenths.",
    queries=("sensitivity_by_class", "sensitivity"),
    of_labels=True,
    absent=_why_no_class,
    fill=_fill_classes,
    finding=_worst_class,
)

# labels of a few telling samples: the steadiest, a middling and the least steady one

NOT_VALID = "N/A"
ROLES = ("least, right", "least, wrong", "least", "median", "most")
OTHER = "other labels"
MOST_PRINTED = 8  # labels a cell
_SAMPLE_COLUMNS = (
    *(MODEL, STRATEGY, Column("Which", lambda of: _role(of.row)), words("Sample", "sample_id")),
    *(
        words("Gold label", "gold_label", "not known"),
        words("Labels over the wordings", "labels"),
        figure("Sensitivity", "sensitivity"),
    ),
    figure("Mean consistency", "mean_consistency"),
)


def _fill_labels(task: Task) -> None:
    rows, paints = task.rows, _painted(task.rows)
    task.block.legend = tuple((paint, NOT_VALID if label is None else label) for label, paint in paints.items())
    if any(row["label"] not in paints for row in rows):
        task.block.legend += ((charts.OTHER, OTHER),)
    task.draw(task.pairs(rows, partial(_shares, paints=paints)))
    lines = [line for own in by_pair(rows).values() for line in with_labels(own)]
    task.table("Telling samples with their labels", _SAMPLE_COLUMNS, lines, "fct_sensitivity", most=task.n_rows)


def with_labels(rows: list[Row]) -> list[Row]:
    """Makes a row for each sample of one model, task and strategy, with its labels as they are printed."""
    return [{**own[0], "labels": _labels(own)} for own in by(rows, "sample_id").values()]


def _labels(rows: list[Row]) -> tuple[Part, ...]:
    # the likeliest label stands first
    ranked = sorted(rows, key=lambda row: -row["p_tau"])
    printed: list[Part] = []
    for row in ranked[:MOST_PRINTED]:
        printed += [f"{', ' if printed else ''}{_label(row)} ", Traced("fct_p_tau", row).number("p_tau", 2)]
    if len(ranked) > MOST_PRINTED:
        printed.append(f" and {len(ranked) - MOST_PRINTED} more")
    return tuple(printed)


def _label(row: Row) -> str:
    return NOT_VALID if row["label"] is None else cut(row["label"], 60)


def _role(row: Row) -> str:
    return " and ".join(row["roles"])


def _painted(rows: list[Row]) -> dict[str | None, str]:
    # the commonest labels have a colour each, in the task's order, and N/A one; the others share one
    known = [row for row in rows if row["label"] is not None]
    order = {row["label"]: row["label_index"] for row in known}
    shares = {label: sum(row["p_tau"] for row in own) for label, own in by(known, "label").items()}
    common = sorted(shares, key=lambda label: (-shares[label], order[label]))[: len(charts.LABELS)]
    kept = sorted(common, key=lambda label: order[label])
    paints: dict[str | None, str] = dict(zip(kept, charts.LABELS, strict=False))
    if len(known) < len(rows):
        paints[None] = charts.NOT_VALID
    return paints


def _shares(rows: list[Row], who: str, *, paints: dict[str | None, str]) -> Drawn:
    places = {label: place for place, label in enumerate(paints)}
    samples = sorted(by(rows, "sample_id").values(), key=lambda own: min(map(ROLES.index, own[0]["roles"])))
    bars = []
    for own in samples:
        parts = by_columns([{**row, "place": places.get(row["label"], len(paints))} for row in own], "place")
        start = 0.0
        for (place,), of_part in sorted(parts.items()):
            label = OTHER if place == len(paints) else _label(of_part[0])
            p_tau = sum(row["p_tau"] for row in of_part)
            bar = {"name": _role(own[0]), "part": place, "label": label, "start": start}
            bars.append({**bar, "end": min(1.0, start + p_tau), "p_tau": p_tau})
            start += p_tau
    names = [_role(own[0]) for own in samples]
    values = "; ".join(f"{_role(own[0])} {number(own[0]['sensitivity'])}" for own in samples)
    label = f"{who}: shares of labels over the wordings of {len(names)} samples, by sensitivity: {values}."
    return "", charts.shares(bars, names, [*paints.values(), charts.OTHER], label)


def _most_labels(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["label_distributions"], "sensitivity") if "most" in row["roles"]]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row["sensitivity"])
    key = ("model_id", "task_id", "strategy", "sample_id")
    n = sum(row["p_tau"] > 0 for row in rows if all(row[name] == worst[name] for name in key))
    if n == 1:
        return f"Every sample gets one label, or none, from {whose(worst)}"
    return f"Sample {cut(worst['sample_id'], NAME)} gets {n} different labels from {whose(worst)}"


label_distributions = Section(
    name="label_distributions",
    title="Labels of a few telling samples",
    intro="The bars show how the labels of a sample are distributed over the wordings (p_τ). The samples are the "
    "least sensitive one whose likeliest label is right, the least sensitive one whose likeliest label is "
    "wrong, the median one and the most sensitive one.",
    of_labels=True,
    absent=lambda task: why_one_variant(task.scored, "the share of labels"),
    fill=_fill_labels,
    finding=_most_labels,
)

# against consistency: one dot per sample, in front of dots of random and noisy annotators

_KINDS = {
    "random": "answers by chance (circles)",
    "noisy": "another model's answers with errors of a known share (crosses)",
}
_AGAINST = (
    *(MODEL, STRATEGY, counted("Samples", "n_correlated"), figure("Mean sensitivity", "sensitivity_mean")),
    *(figure("Mean consistency", "mean_consistency_mean"), figure("Correlation", "correlation")),
)
_CORRELATED = (
    "Only samples with both figures are counted, and Pearson's correlation is over them; it is a dash where "
    "one of the two does not vary. A mean is over all samples that have its figure."
)


def _fill_against(task: Task) -> None:
    dots, block = task.of("sensitivity_against_consistency"), task.block
    models = by(dots, "model_id")
    references = {kind: model for model, kind in reversed(task.data.reference_models.items()) if model in models}
    own = [row for row in dots if row["model_id"] not in references.values()]
    if not own:  # nothing else was asked
        own, references = dots, {}
    shown = task.strategies(dots)
    of_kinds = [(kind, row) for kind, model in references.items() for row in models[model]]
    behind = [{**row, "who": kind} for kind, row in of_kinds if row["strategy"] in shown]
    block.legend += tuple((charts.BEHIND[kind], f"{cut(of, NAME)}: {_KINDS[kind]}") for kind, of in references.items())
    task.draw_models("all strategies", partial(_cloud, behind=behind, shown=shown), own)
    n = max(row["n_correlated"] for row in task.rows)
    if n > SAMPLED:
        chosen = "chosen by a hash of the run's seed and their name"
        block.notes.append(f"{SAMPLED} of {count(n)} samples are drawn, {chosen}; the figures below are over all.")
    caption = "Sensitivity and mean consistency over samples"
    task.table(caption, _AGAINST, task.rows, "rpt_sample_spreads", note=_CORRELATED, most=task.n_rows)


def _cloud(rows: list[Row], who: str, *, behind: list[Row], shown: list[str]) -> Drawn:
    fields = {"sensitivity": "sensitivity", "mean_consistency": "mean_consistency", "n": "n"}
    dots = [renamed(row, {"who": "strategy", **fields}) for row in rows if row["strategy"] in shown]
    back = [renamed(row, {"who": "who", **fields}) for row in behind]
    n = sum(row["n"] for row in dots)
    steady = sum(row["n"] for row in dots if row["sensitivity"] == 0)
    before = f", before {sum(row['n'] for row in back):,} of reference models" if back else ""
    dots_of = f"{n:,} dots{before}; {steady:,} lie at sensitivity 0"
    label = f"{who}: mean consistency against sensitivity, {dots_of}. The means are in the table below."
    return f"{count(n)} dots, {count(steady)} at sensitivity 0", charts.cloud(back, dots, shown, label)


def _with_dots(data: ReportData) -> list[Row]:
    drawn = {row["task_id"] for row in data["sensitivity_against_consistency"]}
    return [row for row in data["sample_spreads"] if row["n_correlated"] and row["task_id"] in drawn]


sensitivity_against_consistency = Section(
    name="sensitivity_against_consistency",
    title="Sensitivity against consistency",
    intro="Each dot is a sample, and is larger where several fall on each other; mean consistency is with the others "
    "of its class. A sample at the bottom left is steady but unlike its class; one at the top right wavers in "
    "the same way as its whole class.",
    queries=("sample_spreads", "sensitivity_against_consistency"),
    rows=_with_dots,
    of_labels=True,
    absent="No sample has both figures: they need two prompt variants, and two samples of one gold label.",
    fill=_fill_against,
    finding=lambda data: ends(
        data, "Sensitivity and consistency of samples correlate at", data["sample_spreads"], "correlation"
    ),
)

# by number of wordings

BY_WORDINGS, STABILITY = "rpt_measures_by_wordings", "fct_prompt_stability"
_GROUP = ("model_id", "task_id", "strategy")
_BY_WORDINGS = (
    *(MODEL, STRATEGY, counted("Wordings", "n_wordings"), N_SAMPLES, figure("Sensitivity", "sensitivity")),
    *(figure("Consistency", "consistency"), figure("std over subsets", "consistency_subset_std")),
    counted("Subsets", "n_subsets"),
    *(beside(STABILITY, column, lambda _: "") for column in (figure("PSS, first k", "pss"), bounds("pss"))),
)


def _fill_by_wordings(task: Task) -> None:
    key = ("scope", "series", "annotation_filter", "paraphrase_temperature")
    of_first_k = ("inter", "cumulative", "labels_and_na", None)
    stabilities = [row for row in task.of("stabilities") if tuple(row[name] for name in key) == of_first_k]
    first_k = keyed(stabilities, *_GROUP, "n_annotators")
    rows = [{**row, STABILITY: first_k.get((*(row[name] for name in _GROUP), row["n_wordings"]))} for row in task.rows]
    task.draw(_of_measures(task, rows, task.strategies()))
    task.table("Measures by number of wordings", _BY_WORDINGS, rows, BY_WORDINGS, most=task.n_rows)


def _of_measures(task: Task, rows: list[Row], shown: Sequence[str]) -> list[Chart]:
    # sorted by model, so that each measure is seen if there is room for few charts
    made: list[Chart] = []
    first_k = [{**row[STABILITY], "n_wordings": row["n_wordings"]} for row in rows if row[STABILITY] is not None]
    lowest = [row["pss"] if row["pss_low"] is None else row["pss_low"] for row in first_k]
    for mart, column, name, own, ends_of, level in (
        (BY_WORDINGS, "sensitivity", "sensitivity", rows, _from_zero, None),
        (BY_WORDINGS, "consistency", "consistency", rows, domain_of, None),
        (STABILITY, "pss", "PSS", first_k, lambda _: domain_of(lowest), STABLE),
    ):
        known = [row for row in own if row[column] is not None and row["strategy"] in shown]
        if known:
            domain = ends_of([row[column] for row in known])
            axes = Axes(x="wordings", y=name, domain=domain, format="d", level=level, value="figure")
            made += task.models(known, name, partial(_curves, mart=mart, column=column, axes=axes, shown=shown))
    return sorted(made, key=lambda chart: chart.name)


def _from_zero(values: Sequence[float]) -> Domain:
    return 0.0, min(1.0, max(0.1, math.ceil(max(values) * 10) / 10))


def _curves(rows: list[Row], who: str, *, mart: str, column: str, axes: Axes, shown: Sequence[str]) -> Drawn:
    points = [point(mart, row, column, series=row["strategy"], at=row["n_wordings"]) for row in rows]
    places = [row["at"] for row in points]
    between = f"{min(places)} to {max(places)}"
    label = f"{who}: {axes.y} by number of wordings ({between}): {spans_of(points)}."
    return "", curves(points, shown, axes, label)


def spans_of(points: Sequence[Row]) -> str:
    """Says between which figures each series lies."""
    own = by(points, "series").items()
    return "; ".join(f"{cut(name, NAME)} {span([row['value'] for row in of])}" for name, of in own)


@of_extreme(lambda data: data["measures_by_wordings"], "sensitivity")
def _of_fewer(worst: Row, data: ReportData) -> str:
    rows = known_rows(data, data["measures_by_wordings"], "sensitivity")
    own = sorted((row for row in rows if group_of(row) == group_of(worst)), key=lambda row: row["n_wordings"])
    first, last = own[0], own[-1]
    would = f"{first['n_wordings']} {data.word}s would show a sensitivity of {number(first['sensitivity'])}"
    return f"{would}, {last['n_wordings']} show {number(last['sensitivity'])}, for {whose(last)}"


measures_by_wordings = Section(
    name="measures_by_wordings",
    title="By number of wordings",
    intro="The curves show what fewer of the same wordings would have given. Sensitivity is the mean over all "
    "subsets of k wordings, and consistency the mean over up to 20 of these. PSS is that of the first k "
    "wordings, with its 95 % interval. The sensitivity of few wordings lies below that of many; where a figure "
    "still moves at the right end, more wordings are needed. Micro-F1 has no such curve, since its expectation "
    "is the same at any number of wordings.",
    queries=("measures_by_wordings", "stabilities"),
    of_labels=True,
    absent=lambda task: why_one_variant(task.scored, "a curve over wordings"),
    fill=_fill_by_wordings,
    finding=_of_fewer,
)
