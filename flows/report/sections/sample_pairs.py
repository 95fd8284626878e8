"""The section on the class that is treated least alike: its samples pair by pair, ordered so that groups show."""

from __future__ import annotations

import itertools

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from flows.display.figures import NAME, count, cut, number
from flows.report.blocks.blocks import Block, Section, by_task
from flows.report.blocks.cells import Part, Printed, Traced
from flows.report.charts import samples as charts
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted
from flows.report.sections.label_distributions import by_sample, labels_of
from flows.report.sections.sensitivity import OLDER, why_no_answers, why_open
from flows.warehouse import Row

MART = "rpt_sample_similarities"
LEAST_PAIRED = 3  # samples of a class that has pairs to show, as rpt_sample_similarities has it
LEVELS = 20  # of a cell's shade: neighbours of one shade are one mark
_CLASS = ("model_id", "strategy", "gold_label")
_COLUMNS = ("Place", "Sample", "Labels over the wordings", "Like the others shown")


def pairs(found: Gathered, room: Room) -> Section:
    """1 - TVD between the label distributions of one class's samples, as a matrix and as a histogram."""
    section = Section(
        "pairs",
        "Pairs of samples of one class",
        "Of the class with the lowest consistency: how alike two samples are treated (1 less the total variation distance of "
        "their p_τ), a stronger shade for more alike. Samples are ordered by clustering, so that those treated alike stand "
        "together: even squares on the diagonal are groups.",
    )
    rows_of, classes_of = by_task(found.sampled.pairs), by_task(found.consistencies)
    references = {row["model_id"] for row in found.sampled.references}
    for task_id, block, scored in section.of_tasks(found.scorecard):
        rows, classes = rows_of.get(task_id), classes_of.get(task_id, [])
        if not rows:
            few = f"No gold label of this task has {LEAST_PAIRED} samples, so there are no pairs to show."
            is_older = any(row["n_samples"] >= LEAST_PAIRED for row in classes)
            block.absent.append(why_open(found, task_id) or why_no_answers(scored) or (OLDER if is_older else few))
            continue
        of_class = next(row for row in classes if all(row[name] == rows[0][name] for name in _CLASS))
        _tell(block, rows, of_class, room, is_aside=bool(references) and rows[0]["model_id"] not in references)
    return section


def similarities(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - TVD between all pairs of label distributions: shape (n, n_labels) to (n, n), in [0, 1], 1 on the diagonal."""
    return np.asarray(1 - np.abs(shares[:, None, :] - shares[None, :, :]).sum(axis=2) / 2, np.float64)


def grouped(alike: NDArray[np.float64]) -> list[int]:
    """The places of n >= 2 samples in an order that puts alike ones next to each other: average linkage, optimal leaf order."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distances = squareform(np.clip(1 - alike, 0, None), checks=False)
    return [int(place) for place in leaves_list(linkage(distances, "average", optimal_ordering=True))]


def runs(row: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """A row of a matrix as (start, end, shade): neighbours of one shade together, shades in steps of 1 / LEVELS."""
    shades = np.round(row * LEVELS)
    edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(shades))), len(row)]
    return [(start, end, float(shades[start]) / LEVELS) for start, end in itertools.pairwise(edges)]


def _tell(block: Block, rows: list[Row], of_class: Row, room: Room, *, is_aside: bool) -> None:
    """Draws and prints one class; `rows` are a sample's labels each, `of_class` is its row of fct_consistency."""
    first, samples = rows[0], by_sample(rows)
    labels = list(dict.fromkeys(row["label"] for row in rows))
    shares = np.array([
        [next((row["p_tau"] for row in said if row["label"] == label), 0.0) for label in labels] for said in samples.values()
    ])  # fmt: skip
    alike = similarities(shares)
    order = grouped(alike)
    alike = alike[np.ix_(order, order)]
    n = len(order)
    name, gold = cut(first["model_id"], NAME), cut(first["gold_label"], NAME)
    which = f"{name}, {cut(first['strategy'], NAME)}, {cut(block.task_id, NAME)}: class {gold}"
    n_samples, n_pairs = count(first["n_samples"]), count(first["n_pairs"])

    def draw_matrix() -> tuple[str, Markup]:
        cells = [
            {"row": place, "start": start, "end": end, "similarity": shade}
            for place in range(n)
            for start, end, shade in runs(alike[place])
        ]
        mean = number(first["mean_similarity_of_pairs"])
        label = f"{which}: {n_samples} by {n_samples} samples, 1 less their total variation distance, mean {mean}."
        return f"class {gold}, {n_samples} samples", charts.matrix(cells, n, label)

    def draw_histogram() -> tuple[str, Markup]:
        between = alike[np.triu_indices(n, 1)]
        counts = np.bincount(np.minimum((between * 20 + 1e-9).astype(int), 19), minlength=20)
        bins = [{"bin": place, "n": int(number_)} for place, number_ in enumerate(counts) if number_]
        label = f"{which}: histogram of {n_pairs} pairs of samples by how alike they are treated."
        return f"class {gold}, {n_pairs} pairs", charts.spread(bins, "1 - TVD of a pair", "pairs", label)

    room.draw(
        block,
        [Wanted(first["model_id"], first["strategy"], draw) for draw in (draw_matrix, draw_histogram)],
    )  # fmt: skip
    block.notes.append(_note(Traced(MART, first), Traced("fct_consistency", of_class), is_aside=is_aside))
    names = list(samples)
    in_order = [samples[names[place]] for place in order]
    lines = [
        (count(place), said[0]["sample_id"], labels_of(said), Traced(MART, said[0]).number("mean_similarity"))
        for place, said in enumerate(in_order, start=1)
    ]
    block.tables.append(room.table("Samples of the matrix, in its order", _COLUMNS, lines, 2, 1))


def _note(of: Traced, of_class: Traced, *, is_aside: bool) -> Printed:
    """What is shown, of which class."""
    gold = cut(of.row["gold_label"], NAME)
    said: list[Part] = [f"Class {gold} has the lowest consistency, ", of_class.number("consistency"), " over its "]
    said += [of_class.count("n_samples"), " samples"]
    if of.row["n_samples"] < of_class.row["n_samples"]:
        said += ["; shown are ", of.count("n_samples"), ", chosen by a hash of the run's seed and their name"]
    said += [
        ". The mean over the ",
        of.count("n_pairs"),
        " pairs shown is ",
        of.number("mean_similarity_of_pairs"),
        ".",
    ]
    if is_aside:
        said.append(" Models that answer by chance, or with errors on purpose, are left aside.")
    return tuple(said)
