"""The section on the class that is treated least alike: its samples pair by pair, ordered so that groups show."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from flows.display.figures import NAME, count, cut, number
from flows.report.blocks.blocks import Block, Section, by
from flows.report.blocks.cells import Part, Printed, Traced
from flows.report.charts import samples as charts
from flows.report.gather import ReportData
from flows.report.sections.columns import figure, table, tally, words
from flows.report.sections.label_distributions import with_labels
from flows.report.sections.reasons import OLDER, why_no_answers, why_open
from flows.report.sections.room import Chart, Drawn, Room, who
from flows.warehouse import Row

MART = "rpt_sample_similarities"
LEAST_PAIRED = 3  # samples of a class that has pairs to show, as rpt_sample_similarities has it
LEVELS = 20  # of a cell's shade: neighbours of one shade are one mark
_CLASS = ("model_id", "strategy", "gold_label")
_COLUMNS = (
    tally("Place", "place"), words("Sample", "sample_id"), words("Labels over the wordings", "labels"),
    figure("Like the others shown", "mean_similarity"),
)  # fmt: skip


def pairs(data: ReportData, room: Room) -> Section:
    """Returns 1 - TVD between the label distributions of one class's samples, as a matrix and as a histogram."""
    section = Section(
        "pairs",
        "Pairs of samples of one class",
        "Of the class with the lowest consistency: how alike two samples are treated (1 less the total variation distance of "
        "their p_τ), a stronger shade for more alike. Samples are ordered by clustering, so that those treated alike stand "
        "together: even squares on the diagonal are groups.",
    )
    rows_of, classes_of = by(data.pairs, "task_id"), by(data.consistencies, "task_id")
    references = {row["model_id"] for row in data.references}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows, classes = rows_of.get(task_id), classes_of.get(task_id, [])
        if not rows:
            few = f"No gold label of this task has {LEAST_PAIRED} samples, so there are no pairs to show."
            is_older = any(row["n_samples"] >= LEAST_PAIRED for row in classes)
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or (OLDER if is_older else few))
            continue
        first = rows[0]
        of_class = next(row for row in classes if all(row[name] == first[name] for name in _CLASS))
        alike, order = _alike(rows)
        _draw(block, first, alike, room)
        is_aside = bool(references) and first["model_id"] not in references
        block.notes.append(_note(Traced(MART, first), Traced("fct_consistency", of_class), is_aside=is_aside))
        samples = with_labels(rows)
        lines = [{**samples[at], "place": place} for place, at in enumerate(order, start=1)]
        block.tables.append(table("Samples of the matrix, in its order", _COLUMNS, lines, MART, most=room.n_rows))
    return section


def similarities(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns 1 - TVD between all pairs of label distributions: shape (n, n_labels) to (n, n), in [0, 1], 1 on the diagonal."""
    return np.asarray(1 - np.abs(shares[:, None, :] - shares[None, :, :]).sum(axis=2) / 2, np.float64)


def grouped(alike: NDArray[np.float64]) -> list[int]:
    """Returns the places of n >= 2 samples such that alike ones are neighbours: average linkage, optimal leaf order."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distances = squareform(np.clip(1 - alike, 0, None), checks=False)
    return [int(place) for place in leaves_list(linkage(distances, "average", optimal_ordering=True))]


def runs(row: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Returns a row of a matrix as (start, end, shade): neighbours of one shade together, shades in steps of 1 / LEVELS."""
    shades = np.round(row * LEVELS)
    edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(shades))), len(row)]
    return [(start, end, float(shades[start]) / LEVELS) for start, end in itertools.pairwise(edges)]


def _alike(rows: list[Row]) -> tuple[NDArray[np.float64], list[int]]:
    """The similarities of one class's samples in the order that puts alike ones together, and that order."""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    shares = np.array([
        [next((row["p_tau"] for row in own if row["label"] == label), 0.0) for label in labels]
        for own in by(rows, "sample_id").values()
    ])  # fmt: skip
    alike = similarities(shares)
    order = grouped(alike)
    return alike[np.ix_(order, order)], order


def _draw(block: Block, first: Row, alike: NDArray[np.float64], room: Room) -> None:
    gold, n = cut(first["gold_label"], NAME), len(alike)
    which = f"{who(first['model_id'], first['strategy'], block.task_id)}: class {gold}"
    n_samples, n_pairs = count(first["n_samples"]), count(first["n_pairs"])

    def draw_matrix() -> Drawn:
        cells = [
            {"row": place, "start": start, "end": end, "similarity": shade}
            for place in range(n)
            for start, end, shade in runs(alike[place])
        ]
        mean = number(first["mean_similarity_of_pairs"])
        label = f"{which}: {n_samples} by {n_samples} samples, 1 less their total variation distance, mean {mean}."
        return f"class {gold}, {n_samples} samples", charts.matrix(cells, n, label)

    def draw_histogram() -> Drawn:
        between = alike[np.triu_indices(n, 1)]
        counts = np.bincount(np.minimum((between * 20 + 1e-9).astype(int), 19), minlength=20)
        bins = [{"bin": place, "n": int(number_)} for place, number_ in enumerate(counts) if number_]
        label = f"{which}: histogram of {n_pairs} pairs of samples by how alike they are treated."
        return f"class {gold}, {n_pairs} pairs", charts.spread(bins, "1 - TVD of a pair", "pairs", label)

    room.draw(block, [Chart(first["model_id"], first["strategy"], draw) for draw in (draw_matrix, draw_histogram)])


def _note(of: Traced, of_class: Traced, *, is_aside: bool) -> Printed:
    """What is shown, of which class."""
    gold = cut(of.row["gold_label"], NAME)
    note: list[Part] = [f"Class {gold} has the lowest consistency, ", of_class.number("consistency"), " over its "]
    note += [of_class.count("n_samples"), " samples"]
    if of.row["n_samples"] < of_class.row["n_samples"]:
        note += ["; shown are ", of.count("n_samples"), ", chosen by a hash of the run's seed and their name"]
    note += [
        ". The mean over the ",
        of.count("n_pairs"),
        " pairs shown is ",
        of.number("mean_similarity_of_pairs"),
        ".",
    ]
    if is_aside:
        note.append(" Models that answer by chance, or with errors on purpose, are left aside.")
    return tuple(note)
