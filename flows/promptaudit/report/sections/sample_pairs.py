"""The section on the classes that are treated least and most alike: samples pair by pair, ordered so that groups show."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from promptaudit.report.blocks.blocks import DrawnSection, by, keyed
from promptaudit.report.blocks.cells import Part, Printed, Traced
from promptaudit.report.charts import samples as charts
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import counted, figure, table, tally, words
from promptaudit.report.sections.extremes import class_of, smallest, whose
from promptaudit.report.sections.label_distributions import with_labels
from promptaudit.report.sections.reasons import why_no_answers, why_open
from promptaudit.report.sections.room import Chart, Drawn, Room, point, who
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, count, cut, number
from promptaudit.warehouse import Row

MART, DISTANCES = "rpt_sample_similarities", "rpt_pair_distances"
LEAST_PAIRED = 3  # samples of a class that has pairs to show, as rpt_sample_similarities has it
LEVELS = 20  # of a cell's shade: neighbours of one shade are one mark
EXTREMES = ("lowest", "middle", "highest")
_CLASS = ("model_id", "strategy", "gold_label")
_COLUMNS = (
    tally("Place", "place"),
    words("Sample", "sample_id"),
    words("Labels over the wordings", "labels"),
    figure("Like the others shown", "mean_similarity"),
)
_STEPS = (
    words("Class", "gold_label"),
    figure("1 - TVD from", "similarity_low"),
    figure("to", "similarity_high"),
    counted("Pairs", "n_pairs"),
    figure("Share of pairs", "pair_share"),
    figure("Mean", "mean_similarity"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of, classes_of = by(data["sample_similarities"], "task_id"), by(data["consistency"], "task_id")
    pairs_of, steps_of = by(data["sample_pairs"], "task_id"), by(data["pair_distances"], "task_id")
    references = {row["model_id"] for row in data.references}
    with_choice = {row["task_id"] for row in data.tasks if row["pair_classes"]}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        classes = keyed(classes_of.get(task_id, []), *_CLASS)
        if task_id not in pairs_of or task_id not in rows_of:
            few = f"No gold label of this task has {LEAST_PAIRED} samples, so there are no pairs to show."
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or few)
            continue
        shown = by(rows_of[task_id], "extreme")
        all_charts = []
        for extreme in (each for each in EXTREMES if each in shown):
            rows = shown[extreme]
            first = rows[0]
            own = [row for row in pairs_of[task_id] if _is_of(row, first)]
            steps = [row for row in steps_of.get(task_id, []) if _is_of(row, first)]
            all_charts += _charts(first, own, steps, task_id)
            is_aside = extreme == EXTREMES[0] and bool(references) and first["model_id"] not in references
            of_class = Traced("fct_consistency", classes[tuple(first[name] for name in _CLASS)])
            is_chosen = task_id in with_choice
            block.notes.append(_note(Traced(MART, first), of_class, is_aside=is_aside, is_chosen=is_chosen))
            lines = [{**row, "place": _places(own)[row["sample_id"]]} for row in with_labels(rows)]
            caption = f"Samples of the class of {extreme} consistency, in the matrix's order"
            lines.sort(key=lambda row: row["place"])
            block.tables.append(table(caption, _COLUMNS, lines, MART, most=room.n_rows))
            caption = f"Pairs of the class of {extreme} consistency"
            block.tables.append(table(caption, _STEPS, steps, DISTANCES, n_heads=1))
        room.draw(block, all_charts)


def runs(row: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Returns a row of a matrix as (start, end, shade): neighbours of one shade together, shades in steps of 1 / LEVELS."""
    shades = np.round(row * LEVELS)
    edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(shades))), len(row)]
    return [(start, end, float(shades[start]) / LEVELS) for start, end in itertools.pairwise(edges)]


def _is_of(row: Row, first: Row) -> bool:
    return all(row[name] == first[name] for name in _CLASS)


def _places(own: list[Row]) -> dict[str, int]:
    """Returns the place of each sample of a class, from its pairs."""
    return {row["sample_id"]: row["place"] for row in own} | {row["other_sample_id"]: row["other_place"] for row in own}


def _charts(first: Row, own: list[Row], steps: list[Row], task_id: str) -> list[Chart]:
    """Returns the matrix of a class's pairs, and the histogram of all of them."""
    gold = cut(first["gold_label"], NAME)
    which = f"{who(first['model_id'], first['strategy'], task_id)}: class {gold}"

    def draw_matrix() -> Drawn:
        n = first["n_samples"]
        alike = np.eye(n)
        for row in own:
            alike[row["place"] - 1, row["other_place"] - 1] = alike[row["other_place"] - 1, row["place"] - 1] = row[
                "similarity"
            ]
        cells = [
            {"row": place, "start": start, "end": end, "similarity": shade}
            for place in range(n)
            for start, end, shade in runs(alike[place])
        ]
        mean, n_samples = number(first["mean_similarity_of_pairs"]), count(n)
        label = f"{which}: {n_samples} by {n_samples} samples, 1 less their total variation distance, mean {mean}."
        return f"class {gold}, {n_samples} samples", charts.matrix(cells, n, label)

    def draw_histogram() -> Drawn:
        bars = [
            point(DISTANCES, row, "n_pairs", start=row["similarity_low"], end=row["similarity_high"]) for row in steps
        ]
        n_pairs = count(sum(row["n_pairs"] for row in steps))
        exact = {
            row["similarity_low"]: row["n_pairs"] for row in steps if row["similarity_low"] == row["similarity_high"]
        }
        alike = f"{count(exact.get(0.0, 0))} share nothing, {count(exact.get(1.0, 0))} are treated exactly alike"
        label = f"{which}: histogram of {n_pairs} pairs of samples by how alike they are treated; {alike}."
        return f"class {gold}, {n_pairs} pairs", charts.steps(bars, label)

    return [Chart(first["model_id"], first["strategy"], draw) for draw in (draw_matrix, draw_histogram)]


def _note(of: Traced, of_class: Traced, *, is_aside: bool, is_chosen: bool) -> Printed:
    """Returns what is shown, of which class."""
    gold = cut(of.row["gold_label"], NAME)
    among = " of those that the task's card names" if is_chosen else ""
    note: list[Part] = [
        f"Class {gold} has the {of.row['extreme']} consistency{among}, ",
        of_class.number("consistency"),
    ]
    note += [" over its ", of_class.count("n_samples"), " samples"]
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


def _finding(data: ReportData) -> str:
    worst = smallest(
        [row for row in data["sample_similarities"] if row["extreme"] == "lowest"], "mean_similarity_of_pairs"
    )
    if worst is None:
        return ""
    mean = number(worst["mean_similarity_of_pairs"])
    return f"{class_of(worst)} has the pairs least alike: {mean} on average for {whose(worst)}"


sample_pairs = Section(
    name="sample_pairs",
    title="Pairs of samples of one class",
    intro=(
        "The matrices show how similarly two samples of one class are treated: 1 minus the total variation "
        "distance of their p_τ, with a stronger shade for more alike. The classes are the one with the lowest "
        "consistency and, for the same model and strategy, the one with the highest, or else those that "
        "`pair_classes` in the task's card names. Samples are ordered by clustering, so that those treated alike "
        "stand together: even squares on the diagonal are groups. The histograms count all pairs of the class; the "
        "bars beside the axis are of pairs that share nothing (0) and of pairs that are treated exactly alike (1)."
    ),
    fill=_fill,
    finding=_finding,
    queries=("consistency", "pair_distances", "sample_pairs", "sample_similarities"),
)
