"""The section on PSS across tasks: all tasks in one figure, ordered by score, and a panel a task in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from promptaudit.report.blocks.blocks import Block, DrawnSection, by
from promptaudit.report.charts import panels
from promptaudit.report.charts.curves import Axes, curves
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, counted, figure, table, words
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.pivots import n_tasks
from promptaudit.report.sections.room import Chart, Drawn, Room, is_limited, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, span
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MART, OF_PANELS = "rpt_audit", "fct_prompt_stability"
MOST_JOINT = 8  # charts of all tasks on a page
MOST_PANELS = 24  # panels of one figure on a page
SCOPES = {"intra": "over asks of the same prompt", "inter": "over rewordings of the prompt"}
_COLUMNS = {
    scope: (
        words("Task", "task_id"),
        MODEL,
        STRATEGY,
        N_SAMPLES,
        counted(*asked),
        figure("PSS", f"pss_{scope}"),
        bounds(f"pss_{scope}"),
    )
    for scope, asked in (("intra", ("Asks", "n_repetitions")), ("inter", ("Variants", "n_variants")))
}


class Figures(NamedTuple):
    """One figure to be: whom it is about, the column whose values are its series, these, and rows of the scorecard."""

    name: str
    series_of: str
    series: list[str]
    rows: list[Row]


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    for scope in SCOPES:
        rows = [row for row in data.scorecard if row[f"pss_{scope}"] is not None]
        if n_tasks(rows) > 1:  # a figure of one task is the task's own
            figures = _figures(rows)
            _joint(section, data, figures, scope)
            _small_multiples(section, data, figures, scope)


def _figures(rows: list[Row]) -> list[Figures]:
    """One figure of all models where there is one strategy, else one a model with its strategies."""
    is_one = len({row["strategy"] for row in rows}) == 1
    series_of = "model_id" if is_one else "strategy"
    series = sorted({row[series_of] for row in rows})[: len(panels.SERIES)]
    models = dict(sorted(by(rows, "model_id").items()))
    groups = {"all models": rows} if is_one and len(models) > 1 else models
    shown = {name: [row for row in own if row[series_of] in series] for name, own in groups.items()}
    return [Figures(name, series_of, series, own) for name, own in shown.items() if own]


def _by_score(rows: Sequence[Row], scope: str) -> list[str]:
    """Returns the tasks, those with the highest mean of a figure first."""
    means = {task: sum(row[f"pss_{scope}"] for row in own) / len(own) for task, own in by(rows, "task_id").items()}
    return sorted(means, key=lambda task: (-means[task], task))


def _joint(section: DrawnSection, data: ReportData, figures: list[Figures], scope: str) -> None:
    """All tasks in one chart for each figure, and a table of every row of the scorecard, drawn or not."""
    block = section.add(heading=f"PSS {scope}: agreement {SCOPES[scope]}", figure=f"pss-{scope}")
    rows = [row for row in data.scorecard if row[f"pss_{scope}"] is not None]
    _colour(block, figures[0], rows)
    charts = [Chart(f"PSS {scope}, all tasks", each.name, partial(_all_tasks, each, scope)) for each in figures]
    Room(data, MOST_JOINT * n_tasks(data.scorecard)).draw(block, charts)
    ordered = _by_score(rows, scope)
    rows.sort(key=lambda row: (ordered.index(row["task_id"]), -row[f"pss_{scope}"]))
    caption = f"PSS {scope} of all tasks, the most stable first"
    own = table(caption, _COLUMNS[scope], rows, MART, n_heads=3)
    block.tables.append(replace(own, file=f"pss-{scope}"))


def _all_tasks(figures: Figures, scope: str) -> Drawn:
    tasks = _by_score(figures.rows, scope)[: panels.MOST_BARS]
    rows = sorted((row for row in figures.rows if row["task_id"] in tasks), key=lambda row: tasks.index(row["task_id"]))
    points = [point(MART, row, f"pss_{scope}", name=row["task_id"], series=row[figures.series_of]) for row in rows]
    values = f"{len(tasks)} tasks, {span([row['value'] for row in points])}"
    label = f"{cut(figures.name, NAME)}: PSS {scope} of {values}."
    return values, panels.ranges(points, figures.series, _domain(points), "PSS", label, "of", panels.STABLE)


def _small_multiples(section: DrawnSection, data: ReportData, figures: list[Figures], scope: str) -> None:
    """A panel a task for each figure, of which a page has room for the first."""
    drawn = figures[:1] if is_limited() else figures
    for each in drawn:
        of_task = by(_along(data, each, scope), "task_id")
        if len(of_task) < 2:  # noqa: PLR2004 - as above
            continue
        rows = [row for own in of_task.values() for row in own]
        title = _title(rows, scope)
        block = section.add(heading=f"PSS {scope} by {title}: {each.name}", figure=f"pss-{scope}-by-task")
        _colour(block, each, each.rows)
        domain = _domain([point(OF_PANELS, row, "pss") for row in rows])
        tasks = [task for task in _by_score(each.rows, scope) if task in of_task]
        charts = [Chart(task, each.name, partial(_panel, of_task[task], each, title, domain)) for task in tasks]
        Room(data, MOST_PANELS * n_tasks(data.scorecard)).draw(block, charts, "panels")
        if len(drawn) < len(figures):
            block.notes.append(
                f"One of {len(figures)} models is drawn; `promptaudit report --charts` draws all of them."
            )


def _along(data: ReportData, figures: Figures, scope: str) -> list[Row]:
    """Rows of PSS along the axis of a panel: by temperature where there is one, else over the first k annotators."""
    groups = {(row["task_id"], row["model_id"], row["strategy"]) for row in figures.rows}
    rows = [
        row
        for row in data["stabilities"]
        if (row["scope"], row["annotation_filter"]) == (scope, "labels_and_na")
        and row["pss"] is not None
        and (row["task_id"], row["model_id"], row["strategy"]) in groups
    ]
    warm = [row for row in rows if row["series"] == "all" and row["paraphrase_temperature"] is not None]
    cold = [row for row in rows if row["series"] == "cumulative" and row["paraphrase_temperature"] is None]
    return warm or cold


def _title(rows: Sequence[Row], scope: str) -> str:
    if rows[0]["paraphrase_temperature"] is not None:
        return "paraphrase temperature"
    return "number of repetitions" if scope == "intra" else "number of wordings"


def _panel(rows: list[Row], figures: Figures, title: str, domain: panels.Domain) -> Drawn:
    at = "paraphrase_temperature" if rows[0]["paraphrase_temperature"] is not None else "n_annotators"
    points = [point(OF_PANELS, row, "pss", at=row[at], series=row[figures.series_of]) for row in rows]
    values = span([row["pss"] for row in rows])
    label = f"{cut(rows[0]['task_id'], NAME)}, {cut(figures.name, NAME)}: PSS by {title}, {values}."
    axes = Axes(x=title, y="PSS", ticks=sorted({row[at] for row in rows}), domain=domain, level=panels.STABLE)
    return values, curves(
        points, figures.series, axes, {"series": "of", "at": title, "value": "PSS", "low": "low", "high": "high"}, label
    )


def _domain(points: Sequence[Row]) -> panels.Domain:
    return panels.near_domain([(each["value"], each["low"]) for each in points if each["value"] is not None])


def _colour(block: Block, figures: Figures, rows: Sequence[Row]) -> None:
    """The legend, and a note of how many series have no colour."""
    block.legend = tuple(zip(panels.SERIES, figures.series, strict=False))
    n = len({row[figures.series_of] for row in rows})
    if n > len(panels.SERIES):
        block.notes.append(f"{len(panels.SERIES)} of {n} are drawn; the figures below hold all of them.")


def _finding(data: ReportData) -> str:
    return ends(data, f"PSS over {word_for(data.variants)}s", data.scorecard, "pss_inter")


stability_across_tasks = Section(
    name="stability_across_tasks",
    title="Stability across tasks",
    intro=(
        "The prompt stability of all tasks side by side, the most stable first (labels, N/A among them). Lines at "
        "a dot are 95 % intervals; of a wide one only the part near the figure is drawn. A PSS of .8 or more, the "
        "dashed line, is often read as stable, which is only a convention."
    ),
    fill=_fill,
    finding=_finding,
    queries=("stabilities",),
    is_optional=True,
)
