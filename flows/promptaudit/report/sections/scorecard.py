"""Builds the scorecard: a table of shades on the first screen, tables across tasks, and the most sensitive samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from promptaudit.query.history.nights import differs
from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.blocks.blocks import DrawnSection, Heat, HeatCell, HeatLine, Table, by, by_columns, keyed
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import n_tasks, pivoted
from promptaudit.report.sections.section import Section
from promptaudit.report.sections.words import known_rows, means_of
from promptaudit.report.summary_causes import last_comparable
from promptaudit.system.display.figures import NAME, count, cut, number, paragraph, percent
from promptaudit.warehouse import Row

# the picture: models across, tasks and strategies down, a shade for how much answers depend on wordings

MOST_CELLS = 800
OF_PLANNED = (("n_samples", "n_samples_planned", "samples"), ("n_variants_answered", "n_variants", "wordings"))
"""What a figure was measured on, and how many were planned. A cell shows both if they differ."""
MOST_MODELS = 40
MOST_NAMED, SHORT = 4, 60
MOSTLY = 0.5  # of the answers
MANY_TASKS = 6  # are not all in sight at once
NO_FIGURE = "No task was asked under two prompt variants, so nothing tells how far answers depend on them."
SHADES = {"sensitivity": (0.05, 0.1, 0.2, 0.35, 0.6), "accuracy_std_corrected": (0.01, 0.02, 0.04, 0.08, 0.16)}
"""The figures from which each shade beyond the first is used."""
LABELS = {"accuracy_std_corrected": "Corrected spread of accuracy between templates"}
MEANS = {
    "sensitivity": "0: every {word} gives a sample the same label, or none. Brackets are 95 % intervals.",
    "accuracy_std_corrected": "0: accuracy is the same under every template. Brackets are 95 % intervals.",
}


def heat(data: ReportData) -> Heat:
    """Draws the scorecard's sensitivity as a table of shades.

    If no labels are measured, it draws the corrected spread of accuracy.
    """
    rows = [row for row in data.scorecard if row.get("sensitivity") is not None]
    if rows:
        before = {_key(row, "strategy"): row for row in _before(data) if row.get("sensitivity") is not None}
        return _drawn(data, rows, "rpt_audit", "sensitivity", "strategy", before)
    spreads = [row for row in data.judging.spreads if row["accuracy_std_corrected"] is not None]
    if spreads:
        return _drawn(data, spreads, "fct_scoring_sensitivity", "accuracy_std_corrected", "scoring_method", {})
    return Heat(absent=NO_FIGURE if data.scorecard else "Nothing of this run has been measured yet.")


def _before(data: ReportData) -> Iterable[Row]:
    # the night that this run was compared with, else the last earlier one; only rows with the same numbers of samples,
    # variants and asks
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
    references = data.reference_models
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
        keys = [(model, task_id, other) for model in models]
        cells = tuple(_heat_cell(by_key.get(key), before.get(key), mart, column, steps) for key in keys)
        heading = task_id if has_strategies and task_id != task else None
        drawn.append(HeatLine(name=other if has_strategies else task_id, heading=heading, cells=cells))
        task = task_id
    word = data.word
    notes = [MEANS[column].format(word=word)]
    if any(row.get("invalid_rate", 0) > MOSTLY for row in rows):
        notes[0] += " Invalid answers count as one label, so the figure is about them where most answers are invalid."
    cells_of_both = by_key.keys() & before.keys()
    has_before = any((model, *line) in cells_of_both for line in kept for model in models)
    if has_before:
        notes[0] += ' "Was" is the figure of the last comparable night.'
    beside_it = [task for task in dict.fromkeys(row["task_id"] for row in data.scorecard) if task not in worst]
    if beside_it:
        named = ", ".join(cut(task, SHORT) for task in beside_it[:MOST_NAMED])
        more = f" and {len(beside_it) - MOST_NAMED} more" if len(beside_it) > MOST_NAMED else ""
        notes.append(f"Without such a figure: {named}{more}.")
    if len(models) < len(everyone):
        notes.append(f"{len(models)} of {len(everyone)} models are shown; promptaudit sql has the others.")
    if len(kept) < len(lines):
        some = f"The {len(kept)} lines of {len(lines)} that depend most on the {word}"
        notes.append(f"{some}; promptaudit sql has the others.")
    return Heat(
        label=LABELS.get(column) or mart_columns(mart)[column].label,
        beside="with its 95 % interval" + (" and the figure of the last comparable night" if has_before else ""),
        columns=tuple((model, "reference" if model in references else "") for model in models),
        lines=tuple(drawn),
        legend=tuple(_legend(steps)),
        notes=tuple(notes),
    )


def _legend(steps: Sequence[float]) -> Iterable[tuple[str, str]]:
    edges = [f"{step:g}" for step in steps]
    between = [f"{low}–{high}" for low, high in pairwise(edges)]
    meanings = (f"below {edges[0]}", *between, f"{edges[-1]} and more")
    return ((f"h{place}", meaning) for place, meaning in enumerate(meanings))


def _key(row: Row, beside: str) -> tuple[str, ...]:
    return row["model_id"], row["task_id"], row[beside]


def _heat_cell(row: Row | None, before: Row | None, mart: str, column: str, steps: Sequence[float]) -> HeatCell | None:
    if row is None:
        return None
    of = Traced(mart, row)
    below: list[Printed] = [of.bounds(column)]
    if row.get("invalid_rate", 0) > MOSTLY:
        below.append((of.cell("invalid_rate", percent(row["invalid_rate"])), " invalid"))
    below += [
        (of.cell(n, count(row[n])), " of ", of.cell(planned, count(row[planned])), f" {what}")
        for n, planned, what in OF_PLANNED
        if None not in (row.get(n), row.get(planned)) and row[n] < row[planned]
    ]
    if before is not None:
        below.append(("was ", Traced(mart, before).number(column)))
    return HeatCell(
        shade=f"h{sum(row[column] >= step for step in steps)}",
        figure=of.number(column),
        below=tuple(filter(None, below)),
    )


# across tasks: each measure of the scorecard by task, strategy and model, the best of a task in bold

ACROSS, OF_RUN = "rpt_measures_across_tasks", "rpt_sensitivity_against_consistency"
UNREADABLE = "†"
LEAST_CELLS = 3
_HEADS = {"Task": "task_id", "Strategy": "strategy"}


def _across(section: DrawnSection, data: ReportData) -> None:
    rows = [row for row in data["measures_across_tasks"] if row["value"] is not None]
    has_sets = any(row["best_of_sets"] for row in rows)
    rows = [{**row, "has_sets": has_sets} for row in rows]
    if n_tasks(rows) < 2:  # noqa: PLR2004 - a table of one task is the scorecard
        return
    block = section.add()
    block.notes += [_correlation(row) for row in data["correlation_across_tasks"]]
    if len({row["model_id"] for row in rows}) == 1:
        block.tables.append(_of_one_model(rows))
    else:
        block.tables += [_of_measure(measure, own) for measure, own in by(rows, "measure").items()]


def _of_one_model(rows: Sequence[Row]) -> Table:
    labelled = [{**row, "label": _label(row["measure"]), "is_reference": False} for row in rows]
    caption = f"Measures of {cut(rows[0]['model_id'], NAME)}, ± standard deviation"
    note = " ".join(filter(None, (_best(rows), _unread(rows))))
    return pivoted(caption, _HEADS, labelled, _cell, across="label", file="measures", note=note)


def _label(measure: str) -> str:
    return mart_columns("rpt_audit")[measure].label


def _of_measure(measure: str, rows: Sequence[Row]) -> Table:
    has_std = any(row["value_std"] is not None for row in rows)
    caption = f"{_label(measure)}{', ± standard deviation' if has_std else ''}; {rows[0]['direction']} is better"
    # PSS has a section across tasks of its own
    return pivoted(caption, _HEADS, rows, _cell, file=measure, note=_note(rows), is_open=has_std)


def _note(rows: Sequence[Row]) -> str:
    apart = _of_other_numbers(rows)
    references = ", ".join(dict.fromkeys(cut(row["model_id"], NAME) for row in rows if row["is_reference"]))
    aside = f"Models that answer at random or with errors on purpose ({references}) are not compared."
    return " ".join(filter(None, (_best(rows), apart, aside if references else "", _unread(rows))))


def _best(rows: Sequence[Row]) -> str:
    if not any(map(_is_best, rows)):
        return ""
    sets = sorted({name for row in rows for name in row["best_of_sets"]})
    of_sets = " and ".join(f"of {cut(name, NAME)}" for name in sets) or "of all models"
    of_each = f"The best of each task, over models and strategies, {of_sets} is in bold"
    return f"{of_each}; several are where figures are equal."


def _of_other_numbers(rows: Sequence[Row]) -> str:
    # sensitivity grows with the number of wordings, so a task has no best if models had different numbers
    tasks = by([row for row in rows if not row["is_reference"]], "task_id")
    apart = [task for task in tasks.values() if len({row["n_variants_measured"] for row in task}) > 1]
    if not rows[0]["measure"].startswith("sensitivity") or all(any(map(_is_best, task)) for task in apart):
        return ""
    return "A task has no best where it was measured with different numbers of wordings, since sensitivity grows with them."


def _unread(rows: Sequence[Row]) -> str:
    if all(row["is_readable"] for row in rows):
        return ""
    return (
        f"{UNREADABLE} is not to be read: its sensitivity is below .05, and answers that hardly vary are alike whatever "
        "their class."
    )


def _is_best(row: Row) -> bool:
    # the best in a set of models, or of all models if the audit names no sets
    return bool(row["best_of_sets"]) if row["has_sets"] else row["is_best"]


def _cell(row: Row) -> Printed:
    of = Traced(ACROSS, row)
    mark = "" if row["is_readable"] else UNREADABLE
    value = of.number("value", mark=mark, is_strong=_is_best(row))
    return value if row["value_std"] is None else (value, " ± ", of.number("value_std"))


def _correlation(row: Row) -> Printed:
    of = Traced(OF_RUN, row)
    cells = (of.count("n_cells"), " cells of tasks, models and strategies whose sensitivity is ")
    where = (*cells, of.number("min_sensitivity", 2), " or more")
    if row["pearson"] is None:
        few = row["n_cells"] < LEAST_CELLS
        why = f"it needs {LEAST_CELLS} of them" if few else "one of the two does not vary"
        return ("Sensitivity and consistency have no correlation over the ", *where, f": {why}.")
    pearson = (", Pearson's correlation of sensitivity and consistency is ", of.number("pearson"))
    return ("Over the ", *where, *pearson, ". Reference models are left out.")


def _most_sensitive(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "sensitivity")
    means = means_of(rows, "task_id", "sensitivity")
    if len(means) < 2:  # noqa: PLR2004 - one task is the least and the most sensitive
        return ""
    least, most = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    of_least = f"{cut(least, NAME)} the least, {number(means[least])}"
    return (
        f"{cut(most, NAME)} is the most sensitive of {len(means)} tasks, {number(means[most])} on average, {of_least}"
    )


measures_across_tasks = Section(
    name="measures_across_tasks",
    title="Across tasks",
    intro="The scorecard by task, strategy and model, with one table for each measure.",
    queries=("correlation_across_tasks", "measures_across_tasks"),
    whole=_across,
    finding=_most_sensitive,
)

# the samples that waver most, with their answers

MOST_GROUPS = 12  # model and strategy pairs a sample
MOST_LABELS = 8
_ANSWERS = ("task_id", "sample_id", "model_id", "strategy")


def samples(data: ReportData) -> list[Row]:
    """Lists the samples whose labels depend most on the wording, by the mean over strategies and models.

    Models that answer by chance or err on purpose are left out of that mean if there is another model. Each has
    `groups`, one for each model and strategy: labels as (label or None for N/A, count, share), and examples as
    (completion, count). `lines` are of the input; None: not recorded.
    """
    labels, examples = (by_columns(rows, *_ANSWERS) for rows in (data.top_labels, data.top_examples))
    groups: dict[tuple[str, str], list[Row]] = {}
    for key, row in keyed(data.top_sensitivities, *_ANSWERS).items():
        own, said = labels.get(key, []), examples.get(key, [])
        n = sum(label["n"] for label in own)
        answers = {
            "sensitivity": Traced("fct_sensitivity", row).number("sensitivity"),
            "labels": [(label["label"], count(label["n"]), label["n"] / n) for label in own[:MOST_LABELS]],
            "n_more_labels": max(0, len(own) - MOST_LABELS),
            "examples": [(cut(each["completion"] or "", data.texts.long), count(each["n"])) for each in said],
        }
        groups.setdefault((row["task_id"], row["sample_id"]), []).append({**row, **answers})
    return [_sample(data, row, groups.get((row["task_id"], row["sample_id"]), [])) for row in data.top]


def _sample(data: ReportData, row: Row, groups: list[Row]) -> Row:
    return {
        **row,
        "sensitivity": number(row["sensitivity"]),
        "lines": None if row["input"] is None else paragraph(row["input"], data.texts.long),
        "groups": groups[:MOST_GROUPS],
        "n_more_groups": max(0, len(groups) - MOST_GROUPS),
        "is_left_out": data.texts.of(row["task_id"]) == "none",
    }


def samples_finding(data: ReportData) -> str:
    """Says which sample depends most on the wording; empty without samples."""
    if not data.top:
        return ""
    first = data.top[0]
    sample = f"Sample {cut(first['sample_id'], NAME)} of {cut(first['task_id'], NAME)}"
    return f"{sample} depends most on the {data.word}: {number(first['sensitivity'])}"
