"""Builds the sections on consistency: by class, by sample, and by pair in the classes of least and most consistency."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from numpy.typing import NDArray

from promptaudit.report.blocks.blocks import by, by_columns, keyed
from promptaudit.report.blocks.cells import Part, Printed, Traced
from promptaudit.report.charts import panels
from promptaudit.report.charts import samples as charts
from promptaudit.report.data import ReportData
from promptaudit.report.queries import N_BINS
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, counted, figure, tally, words
from promptaudit.report.sections.section import Chart, Drawn, Section, Task, point, who
from promptaudit.report.sections.sensitivity import with_labels
from promptaudit.report.sections.words import NO_CLASSES, class_of, ends, of_extreme, renamed, whose
from promptaudit.system.display.figures import NAME, count, cut, number
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

_CONSISTENCY = (
    *(MODEL, STRATEGY, words("Gold label", "gold_label"), N_SAMPLES, figure("Consistency", "consistency")),
    bounds("consistency", "95 % interval, these wordings"),
    bounds("consistency_wordings", "for other wordings too"),
    figure("Without self-pairs", "consistency_distinct"),
)


def _fill_classes(task: Task) -> None:
    task.draw_pairs(_bars)
    task.table("Consistency of each class", _CONSISTENCY, task.rows, "fct_consistency", n_heads=3)


def _bars(rows: list[Row], who: str) -> Drawn:
    names = {"name": "gold_label", "value": "consistency", "low": "consistency_low", "high": "consistency_high"}
    drawn = [renamed(row, names) for row in rows[: panels.MOST_BARS]]
    some = "" if len(rows) == len(drawn) else f"the first {len(drawn)} of {len(rows)} classes"
    return some, panels.bars(drawn, f"{who}: consistency of {len(drawn)} classes; the figures are in the table below.")


@of_extreme(lambda data: data["consistency"], "consistency", min)
def _least_alike(worst: Row, _: ReportData) -> str:
    return f"{class_of(worst)} is treated least consistently: {number(worst['consistency'])} for {whose(worst)}"


consistency = Section(
    name="consistency",
    title="Consistency by class",
    intro="It is 1 where all samples of a class get the same labels over the wordings. Lines are 95 % intervals; a "
    "class of fewer than 20 samples has none.",
    of_labels=True,
    absent=NO_CLASSES,
    fill=_fill_classes,
    finding=_least_alike,
)

# by sample: how it spreads, as densities by strategy

SPREADS = "rpt_sample_spreads"
BANDWIDTH = 0.03
HALF = 0.36  # of the room between two violins
_SPREAD = (
    *(MODEL, STRATEGY, counted("Samples", "n_compared"), figure("Least", "mean_consistency_min")),
    *(figure("Lower quartile", "mean_consistency_p25"), figure("Median", "mean_consistency_p50")),
    *(figure("Upper quartile", "mean_consistency_p75"), figure("Most", "mean_consistency_max")),
    figure("Mean", "mean_consistency_mean"),
)


def _fill_samples(task: Task) -> None:
    draw = partial(_violins, medians=by(task.rows, "model_id"), shown=task.strategies())
    task.draw_models("by strategy", draw, task.of("sample_consistency"))
    task.table("Mean consistency over samples", _SPREAD, task.rows, SPREADS, most=task.n_rows)


def density(counts: NDArray[np.float64], bandwidth: float = BANDWIDTH) -> NDArray[np.float64]:
    """Smooths the counts of equal bins over [0, 1], shape (n_bins,), into a density at the bins' middles.

    The kernel is Gaussian, its tails reflected at 0 and 1 so that nothing is lost there. The largest value is 1.
    Without a count all are 0.
    """
    n = len(counts)
    middles = (np.arange(n) + 0.5) / n
    mirrored = np.concatenate([-middles[::-1], middles, 2 - middles[::-1]])
    weights = np.exp(-0.5 * ((middles[:, None] - mirrored) / bandwidth) ** 2)
    smooth = weights @ np.concatenate([counts[::-1], counts, counts[::-1]])
    most = smooth.max(initial=0.0)
    return np.asarray(smooth / most if most else smooth, np.float64)


def _violins(bins: list[Row], who: str, *, medians: dict[str, list[Row]], shown: list[str]) -> Drawn:
    outlines, middles = [], []
    for row in medians[bins[0]["model_id"]]:
        if row["strategy"] not in shown:
            continue
        place = shown.index(row["strategy"])
        counts = np.zeros(N_BINS)
        for bin_ in bins:
            if bin_["strategy"] == row["strategy"]:
                counts[bin_["bin"]] = bin_["n"]
        centre = place + 0.5
        for at, width in enumerate(density(counts).tolist()):
            ends_of = {"low": round(centre - HALF * width, 4), "high": round(centre + HALF * width, 4)}
            outlines.append({"place": place, "at": round((at + 0.5) / N_BINS, 4), **ends_of})
        median = {"median": row["mean_consistency_p50"], "low": centre - HALF, "high": centre + HALF}
        own = {"place": place, "series": row["strategy"], "n": row["n_compared"], **median}
        middles.append({**own, "figure": figure_id(SPREADS, row, "mean_consistency_p50")})
    spans = ", ".join(f"{cut(row['series'], NAME)} {number(row['median'])}" for row in middles)
    label = f"{who}: density of mean consistency over samples by strategy; medians: {spans}."
    return "", charts.violins(outlines, middles, shown, label)


sample_consistency = Section(
    name="sample_consistency",
    title="Consistency by sample",
    intro="The densities show how similarly to the others of its class a sample is treated, over all samples that have a gold "
    f"label. They are smoothed over {BANDWIDTH:g}, and each is as wide at its mode. The rule is the median.",
    queries=("sample_spreads", "sample_consistency"),
    rows=lambda data: [row for row in data["sample_spreads"] if row["n_compared"]],
    of_labels=True,
    absent="No two samples of this task share a gold label, so no sample has others of its class.",
    fill=_fill_samples,
    finding=lambda data: ends(
        data, "The median sample's consistency is", data["sample_spreads"], "mean_consistency_p50"
    ),
)

# pairs of samples, ordered so that groups show

SIMILARITIES, DISTANCES = "rpt_sample_similarities", "rpt_pair_distances"
LEAST_PAIRED = 3  # samples of a class that has pairs to show, as rpt_sample_similarities has it
LEVELS = 20  # of a cell's shade; neighbours of one shade become one mark
EXTREMES = ("lowest", "middle", "highest")
_CLASS = ("model_id", "strategy", "gold_label")
_SIMILAR = (
    *(tally("Place", "place"), words("Sample", "sample_id"), words("Labels over the wordings", "labels")),
    figure("Like the others shown", "mean_similarity"),
)
_STEPS = (
    *(words("Class", "gold_label"), figure("1 - TVD from", "similarity_low"), figure("to", "similarity_high")),
    *(counted("Pairs", "n_pairs"), figure("Share of pairs", "pair_share"), figure("Mean", "mean_similarity")),
)


def _fill_pairs(task: Task) -> None:
    classes, references = keyed(task.of("consistency"), *_CLASS), task.data.reference_models
    is_chosen = any(row["pair_classes"] for row in task.data.tasks if row["task_id"] == task.block.task_id)
    shown = by(task.rows, "extreme")
    charts_of: list[Chart] = []
    for extreme in (each for each in EXTREMES if each in shown):
        rows = shown[extreme]
        first = rows[0]
        key = tuple(first[name] for name in _CLASS)
        own, steps = (by_columns(task.of(name), *_CLASS).get(key, []) for name in ("sample_pairs", "pair_distances"))
        charts_of += _charts(first, own, steps, task.block.task_id)
        is_aside = extreme == EXTREMES[0] and bool(references) and first["model_id"] not in references
        of_class = Traced("fct_consistency", classes[key])
        task.block.notes.append(_note(Traced(SIMILARITIES, first), of_class, is_aside=is_aside, is_chosen=is_chosen))
        lines = [{**row, "place": _places(own)[row["sample_id"]]} for row in with_labels(rows)]
        lines.sort(key=lambda row: row["place"])
        caption = f"Samples of the class of {extreme} consistency, in the matrix's order"
        task.table(caption, _SIMILAR, lines, SIMILARITIES, most=task.n_rows)
        task.table(f"Pairs of the class of {extreme} consistency", _STEPS, steps, DISTANCES, n_heads=1)
    task.draw(charts_of)


def runs(row: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Merges neighbours of one shade in a row of a matrix into (start, end, shade). Shades have steps of 1 / LEVELS."""
    shades = np.round(row * LEVELS)
    edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(shades))), len(row)]
    return [(start, end, float(shades[start]) / LEVELS) for start, end in itertools.pairwise(edges)]


def _places(own: list[Row]) -> dict[str, int]:
    return {row["sample_id"]: row["place"] for row in own} | {row["other_sample_id"]: row["other_place"] for row in own}


def _charts(first: Row, own: list[Row], steps: list[Row], task_id: str) -> list[Chart]:
    gold = cut(first["gold_label"], NAME)
    which = f"{who(first['model_id'], first['strategy'], task_id)}: class {gold}"

    def draw_matrix() -> Drawn:
        n = first["n_samples"]
        alike = np.eye(n)
        for row in own:
            one, other = row["place"] - 1, row["other_place"] - 1
            alike[one, other] = alike[other, one] = row["similarity"]
        cells = [
            {"row": place, "start": start, "end": end, "similarity": shade}
            for place in range(n)
            for start, end, shade in runs(alike[place])
        ]
        mean, n_samples = number(first["mean_similarity_of_pairs"]), count(n)
        label = f"{which}: {n_samples} by {n_samples} samples, 1 less their total variation distance, mean {mean}."
        return f"class {gold}, {n_samples} samples", charts.matrix(cells, n, label)

    def draw_histogram() -> Drawn:
        at = [(row, row["similarity_low"], row["similarity_high"]) for row in steps]
        bars = [point(DISTANCES, row, "n_pairs", start=low, end=high) for row, low, high in at]
        n_pairs = count(sum(row["n_pairs"] for row in steps))
        exact = {low: row["n_pairs"] for row, low, high in at if low == high}
        alike = f"{count(exact.get(0.0, 0))} share nothing, {count(exact.get(1.0, 0))} are treated exactly alike"
        label = f"{which}: histogram of {n_pairs} pairs of samples by how alike they are treated; {alike}."
        return f"class {gold}, {n_pairs} pairs", charts.steps(bars, label)

    return [Chart(first["model_id"], first["strategy"], draw) for draw in (draw_matrix, draw_histogram)]


def _note(of: Traced, of_class: Traced, *, is_aside: bool, is_chosen: bool) -> Printed:
    among = " of those that the task's card names" if is_chosen else ""
    which = f"Class {cut(of.row['gold_label'], NAME)} has the {of.row['extreme']} consistency{among}, "
    note: list[Part] = [which, of_class.number("consistency"), " over its ", of_class.count("n_samples"), " samples"]
    if of.row["n_samples"] < of_class.row["n_samples"]:
        note += ["; shown are ", of.count("n_samples"), ", chosen by a hash of the run's seed and their name"]
    note += [". The mean over the ", of.count("n_pairs"), " pairs shown is "]
    note += [of.number("mean_similarity_of_pairs"), "."]
    if is_aside:
        note.append(" Models that answer by chance, or with errors on purpose, are left aside.")
    return tuple(note)


def _pairs_least_alike(data: ReportData) -> str:
    rows = [row for row in data["sample_similarities"] if row["extreme"] == "lowest"]
    if not rows:
        return ""
    worst = min(rows, key=lambda row: row["mean_similarity_of_pairs"])
    mean = number(worst["mean_similarity_of_pairs"])
    return f"{class_of(worst)} has the pairs least alike: {mean} on average for {whose(worst)}"


def _with_pairs(data: ReportData) -> list[Row]:
    paired = {row["task_id"] for row in data["sample_pairs"]}
    return [row for row in data["sample_similarities"] if row["task_id"] in paired]


sample_pairs = Section(
    name="sample_pairs",
    title="Pairs of samples of one class",
    intro="The matrices show how similarly two samples of one class are treated: 1 minus the total variation "
    "distance of their p_τ, with a stronger shade for more alike. The classes are the one with the lowest "
    "consistency and, for the same model and strategy, the one with the highest, or else those that "
    "`pair_classes` in the task's card names. Samples are ordered by clustering, so that those treated alike "
    "stand together: even squares on the diagonal are groups. The histograms count all pairs of the class; the "
    "bars beside the axis are of pairs that share nothing (0) and of pairs that are treated exactly alike (1).",
    queries=("consistency", "pair_distances", "sample_pairs", "sample_similarities"),
    rows=_with_pairs,
    of_labels=True,
    absent=f"No gold label of this task has {LEAST_PAIRED} samples, so there are no pairs to show.",
    fill=_fill_pairs,
    finding=_pairs_least_alike,
)
