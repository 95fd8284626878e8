"""The section on the consistency of single samples: how it spreads, as densities by strategy."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.charts import samples as charts
from promptaudit.report.data import ReportData
from promptaudit.report.queries import N_BINS
from promptaudit.report.sections.columns import MODEL, STRATEGY, counted, figure, table
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.reasons import why_no_answers, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_models, colour
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

MART = "rpt_sample_spreads"
BANDWIDTH = 0.03
HALF = 0.36  # of the room between two violins
_COLUMNS = (
    MODEL,
    STRATEGY,
    counted("Samples", "n_compared"),
    figure("Least", "mean_consistency_min"),
    figure("Lower quartile", "mean_consistency_p25"),
    figure("Median", "mean_consistency_p50"),
    figure("Upper quartile", "mean_consistency_p75"),
    figure("Most", "mean_consistency_max"),
    figure("Mean", "mean_consistency_mean"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    bins, spreads = by(data["sample_consistency"], "task_id"), by(data["sample_spreads"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = [row for row in spreads.get(task_id, []) if row["n_compared"]]
        if not rows:
            alone = "No two samples of this task share a gold label, so no sample has others of its class."
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or alone)
            continue
        draw = partial(_violins, medians=by(rows, "model_id"), shown=colour(block, rows))
        room.draw(block, charts_of_models(bins[task_id], task_id, "by strategy", draw))
        block.tables.append(table("Mean consistency over samples", _COLUMNS, rows, MART, most=room.n_rows))


def density(counts: NDArray[np.float64], bandwidth: float = BANDWIDTH) -> NDArray[np.float64]:
    """Returns a smooth density over [0, 1] from the counts of equal bins, shape (n_bins,), at the bins' middles.

    A Gaussian kernel, its tails reflected at 0 and 1 so that nothing is lost there; the largest value is 1. All zero without
    a count.
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
        outlines += [
            {
                "place": place,
                "at": round((at + 0.5) / N_BINS, 4),
                "low": round(centre - HALF * width, 4),
                "high": round(centre + HALF * width, 4),
            }
            for at, width in enumerate(density(counts).tolist())
        ]
        middles.append(
            {
                "place": place,
                "series": row["strategy"],
                "n": row["n_compared"],
                "median": row["mean_consistency_p50"],
                "low": centre - HALF,
                "high": centre + HALF,
                "figure": figure_id(MART, row, "mean_consistency_p50"),
            }
        )
    spans = ", ".join(f"{cut(row['series'], NAME)} {number(row['median'])}" for row in middles)
    label = f"{who}: density of mean consistency over samples by strategy; medians: {spans}."
    return "", charts.violins(outlines, middles, shown, label)


def _finding(data: ReportData) -> str:
    return ends(data, "The median sample's consistency is", data["sample_spreads"], "mean_consistency_p50")


sample_consistency = Section(
    name="sample_consistency",
    title="Consistency by sample",
    intro=(
        "The densities show how similarly to the others of its class a sample is treated, over all samples that have a gold "
        f"label. They are smoothed over {BANDWIDTH:g}, and each is as wide at its mode. The rule is the median."
    ),
    fill=_fill,
    finding=_finding,
    queries=("sample_consistency", "sample_spreads"),
)
