"""The section on the consistency of single samples: how it spreads, as densities by strategy."""

from __future__ import annotations

from functools import partial

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from flows.display.figures import NAME, cut, number
from flows.report.blocks.blocks import Section, by_task
from flows.report.blocks.cells import Traced
from flows.report.charts import samples as charts
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, by_model, coloured
from flows.report.queries import N_BINS
from flows.report.sections.sensitivity import why_no_answers, why_older, why_open
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

BANDWIDTH = 0.03
HALF = 0.36  # of the room between two violins
_COLUMNS = ("Model", "Strategy", "Samples", "Least", "Lower quartile", "Median", "Upper quartile", "Most", "Mean")


def alike(found: Gathered, room: Room) -> Section:
    """Densities of mean consistency over samples."""
    section = Section(
        "alike",
        "Consistency by sample",
        "How alike a sample is treated to the others of its class, as a density over all samples that have a gold label, "
        f"smoothed over {BANDWIDTH:g}; each is as wide at its mode. The rule is the median.",
    )
    bins, spreads = by_task(found.sampled.consistency_bins), by_task(found.sampled.sample_spreads)
    for task_id, block, scored in section.of_tasks(found.scorecard):
        rows = [row for row in spreads.get(task_id, []) if row["n_compared"]]
        if not rows:
            alone = "No two samples of this task share a gold label, so none has others to be like."
            block.absent.append(why_open(found, task_id) or why_no_answers(scored) or why_older(found) or alone)
            continue
        shown = coloured(block, rows)
        medians = by_model(rows)
        room.draw(
            block,
            [
                Wanted(
                    model, "by strategy",
                    partial(_drawn, own, medians[model], shown, f"{cut(model, NAME)}, {cut(task_id, NAME)}"),
                )
                for model, own in by_model(bins[task_id]).items()
            ],
        )  # fmt: skip
        lines = [
            (row["model_id"], row["strategy"], of.count("n_compared"),
             *(of.number(f"mean_consistency_{name}") for name in ("min", "p25", "p50", "p75", "max", "mean")))
            for row in rows
            for of in (Traced("rpt_sample_spreads", row),)
        ]  # fmt: skip
        block.tables.append(room.table("Mean consistency over samples", _COLUMNS, lines, 2, 7))
    return section


def density(counts: NDArray[np.float64], bandwidth: float = BANDWIDTH) -> NDArray[np.float64]:
    """A smooth density over [0, 1] from the counts of equal bins, shape (n_bins,), at the bins' middles.

    A Gaussian kernel, its tails reflected at 0 and 1 so that nothing is lost there; the largest value is 1. All zero without
    a count.
    """
    n = len(counts)
    middles = (np.arange(n) + 0.5) / n
    held = np.concatenate([-middles[::-1], middles, 2 - middles[::-1]])
    weights = np.exp(-0.5 * ((middles[:, None] - held) / bandwidth) ** 2)
    smooth = weights @ np.concatenate([counts[::-1], counts, counts[::-1]])
    most = smooth.max(initial=0.0)
    return np.asarray(smooth / most if most else smooth, np.float64)


def _drawn(bins: list[Row], spreads: list[Row], shown: list[str], who: str) -> tuple[str, Markup]:
    outlines, middles = [], []
    for row in spreads:
        if row["strategy"] not in shown:
            continue
        place = shown.index(row["strategy"])
        counts = np.zeros(N_BINS)
        for bin_ in bins:
            if bin_["strategy"] == row["strategy"]:
                counts[bin_["bin"]] = bin_["n"]
        centre = place + 0.5
        outlines += [
            {"place": place, "at": round((at + 0.5) / N_BINS, 4), "low": round(centre - HALF * width, 4),
             "high": round(centre + HALF * width, 4)}
            for at, width in enumerate(density(counts).tolist())
        ]  # fmt: skip
        middles.append(
            {"place": place, "series": row["strategy"], "n": row["n_compared"], "median": row["mean_consistency_p50"],
             "low": centre - HALF, "high": centre + HALF,
             "figure": figure_id("rpt_sample_spreads", row, "mean_consistency_p50")}
        )  # fmt: skip
    told = ", ".join(f"{cut(row['series'], NAME)} {number(row['median'])}" for row in middles)
    label = f"{who}: density of mean consistency over samples by strategy; medians: {told}."
    return "", charts.violins(outlines, middles, shown, label)
