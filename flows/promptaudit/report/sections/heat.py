"""The picture of the first screen: models across, tasks and strategies down, a shade for how much answers depend on wordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from promptaudit.query.history.nights import differs
from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.blocks.cells import Cell, Printed, Traced, parts
from promptaudit.report.blocks.heat import Heat, HeatCell, HeatLine
from promptaudit.report.data import ReportData
from promptaudit.report.summary_causes import last_comparable
from promptaudit.system.display.figures import count, cut, number, percent
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MOST_CELLS = 800
OF_PLANNED = (("n_samples", "n_samples_planned", "samples"), ("n_variants_answered", "n_variants", "wordings"))
"""What a figure is of, and how many were planned: told in its cell where these differ."""
MOST_MODELS = 40
MOST_NAMED, NAME = 4, 60
MOSTLY = 0.5  # of the answers
MANY_TASKS = 6  # are not all in sight at once
NO_FIGURE = "No task was asked under two prompt variants, so nothing tells how far answers depend on them."
SHADES = {"sensitivity": (0.05, 0.1, 0.2, 0.35, 0.6), "accuracy_std_corrected": (0.01, 0.02, 0.04, 0.08, 0.16)}
"""From which figure on each shade beyond the first is painted."""

MEANS = {
    "sensitivity": "0: every {word} gives a sample the same label, or none. Brackets are 95 % intervals.",
    "accuracy_std_corrected": "0: accuracy is the same under every template. Brackets are 95 % intervals.",
}


def heat(data: ReportData) -> Heat:
    """Returns the picture: sensitivity, or where no labels are measured the corrected spread of accuracy."""
    rows = [row for row in data.scorecard if row.get("sensitivity") is not None]
    if rows:
        before = {_key(row, "strategy"): row for row in _before(data) if row.get("sensitivity") is not None}
        return _drawn(data, rows, "rpt_audit", "sensitivity", "strategy", before)
    spreads = [row for row in data.judging.spreads if row["accuracy_std_corrected"] is not None]
    if spreads:
        return _drawn(data, spreads, "fct_scoring_sensitivity", "accuracy_std_corrected", "scoring_method", {})
    return Heat(absent=NO_FIGURE if data.scorecard else "Nothing of this run has been measured yet.")


def _before(data: ReportData) -> Iterable[Row]:
    """Yields the rows of the last comparable night: the one this run was compared with, else the last of the same numbers."""
    now = {_key(row, "strategy"): row for row in data.scorecard}
    last = last_comparable(data.changes)
    nights = [run.audit_run_id for run in data.nights.runs if run.audit_run_id != data.run["audit_run_id"]]
    base = last[0]["base_run_id"] if last and last[0]["base_run_id"] in nights else next(reversed(nights), None)
    for row in data.nights.figures:
        own = now.get(_key(row, "strategy"))
        if row["audit_run_id"] == base and own is not None and not differs(row, own):
            yield row


def _drawn(
    data: ReportData, rows: Sequence[Row], mart: str, column: str, beside: str, before: dict[tuple[str, ...], Row]
) -> Heat:
    references = {row["model_id"] for row in data.references}
    everyone = sorted(dict.fromkeys(row["model_id"] for row in rows), key=lambda model: model in references)
    models = everyone[:MOST_MODELS]
    by_key = {_key(row, beside): row for row in rows}
    lines = dict.fromkeys((row["task_id"], row[beside]) for row in rows)
    most = max(1, MOST_CELLS // max(1, len(models)))
    worst: dict[str, float] = {}  # of each task, by the models that are audited where there are any
    for row in [row for row in rows if row["model_id"] not in references] or rows:
        worst[row["task_id"]] = max(worst.get(row["task_id"], -1.0), row[column])
    kept = list(lines)
    if len(worst) > MANY_TASKS:  # those that depend most on the wording first
        kept.sort(key=lambda line: (-worst.get(line[0], -1.0), line[0]))
    kept = kept[:most]
    steps = SHADES[column]
    has_strategies = len({other for _, other in kept}) > 1 or beside != "strategy"
    drawn, task = [], None
    for task_id, other in kept:
        cells = tuple(
            _cell(by_key.get((model, task_id, other)), before.get((model, task_id, other)), mart, column, steps)
            for model in models
        )
        heading = task_id if has_strategies and task_id != task else None
        drawn.append(HeatLine(name=other if has_strategies else task_id, heading=heading, cells=cells))
        task = task_id
    word = word_for(data.variants)
    notes = [MEANS[column].format(word=word)]
    if any(row.get("invalid_rate", 0) > MOSTLY for row in rows):
        notes[0] += " Invalid answers count as one label, so the figure is about them where most answers are invalid."
    cells_of_both = by_key.keys() & before.keys()
    has_before = any((model, *line) in cells_of_both for line in kept for model in models)
    if has_before:
        notes[0] += ' "Was" is the figure of the last comparable night.'
    beside_it = [task for task in dict.fromkeys(row["task_id"] for row in data.scorecard) if task not in worst]
    if beside_it:
        named = ", ".join(cut(task, NAME) for task in beside_it[:MOST_NAMED])
        more = f" and {len(beside_it) - MOST_NAMED} more" if len(beside_it) > MOST_NAMED else ""
        notes.append(f"Without such a figure: {named}{more}.")
    if len(models) < len(everyone):
        notes.append(f"{len(models)} of {len(everyone)} models are shown; promptaudit sql has the others.")
    if len(kept) < len(lines):
        notes.append(
            f"The {len(kept)} lines of {len(lines)} that depend most on the {word}; promptaudit sql has the others."
        )
    label = (
        mart_columns("rpt_audit")[column].label
        if mart == "rpt_audit"
        else "Corrected spread of accuracy between templates"
    )
    return Heat(
        label=label,
        beside="with its 95 % interval" + (" and the figure of the last comparable night" if has_before else ""),
        columns=tuple((model, "reference" if model in references else "") for model in models),
        lines=tuple(drawn),
        legend=tuple(_legend(steps)),
        notes=tuple(notes),
    )


def _legend(steps: Sequence[float]) -> Iterable[tuple[str, str]]:
    """Returns what each shade stands for."""
    edges = [f"{step:g}" for step in steps]
    between = [f"{low}–{high}" for low, high in pairwise(edges)]
    meanings = (f"below {edges[0]}", *between, f"{edges[-1]} and more")
    return ((f"h{place}", meaning) for place, meaning in enumerate(meanings))


def _key(row: Row, beside: str) -> tuple[str, ...]:
    return row["model_id"], row["task_id"], row[beside]


def _cell(row: Row | None, before: Row | None, mart: str, column: str, steps: Sequence[float]) -> HeatCell | None:
    if row is None:
        return None
    of = Traced(mart, row)
    below: list[Printed] = [_bounds(of, column)]
    if row.get("invalid_rate", 0) > MOSTLY:
        below.append((of.cell("invalid_rate", percent(row["invalid_rate"])), " invalid"))
    below += [
        (of.cell(n, count(row[n])), " of ", of.cell(planned, count(row[planned])), f" {what}")
        for n, planned, what in OF_PLANNED
        if None not in (row.get(n), row.get(planned)) and row[n] < row[planned]
    ]
    if before is not None:
        below.append(("was ", _printed(Traced(mart, before), column)))
    return HeatCell(
        shade=f"h{sum(row[column] >= step for step in steps)}",
        figure=_printed(of, column),
        below=tuple(filter(None, below)),
    )


def _printed(of: Traced, column: str) -> Cell:
    return of.cell(column, number(of.row[column]))


def _bounds(of: Traced, column: str) -> Printed:
    """Returns the interval; nothing where it has none."""
    low, high = f"{column}_low", f"{column}_high"
    if of.row.get(low) is None and of.row.get(high) is None:
        return ""
    ends = [_printed(of, end) for end in (low, high)]
    return ("[", ends[0], ", ", *parts(ends[1]), "]")
