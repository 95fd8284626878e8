"""Builds the sections on prompt stability (PSS): across tasks, by model, repetition, wording and share of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import NamedTuple

from markupsafe import Markup

from promptaudit.report.blocks.blocks import MOST_ROWS, Block, DrawnSection, by, group_of, keyed
from promptaudit.report.blocks.cells import Traced, plain
from promptaudit.report.charts import panels
from promptaudit.report.charts.panels import Axes, curves
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import (
    MODEL,
    N_SAMPLES,
    STRATEGY,
    Column,
    beside,
    bounds,
    counted,
    figure,
    n_tasks,
    table,
    tally,
    words,
)
from promptaudit.report.sections.section import Chart, Drawn, Room, Section, Task, colour, is_limited, note_some, point
from promptaudit.report.sections.sensitivity import spans_of
from promptaudit.report.sections.words import (
    ASKED_ONCE,
    ends,
    known_rows,
    means_of,
    of_extreme,
    renamed,
    whose,
    why_one_variant,
    with_ends,
)
from promptaudit.system.display.figures import ABSENT, NAME, cut, moved, number, percent, span
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

CARD, MART, SHARES = "rpt_audit", "fct_prompt_stability", "rpt_stability_by_share"
CONVENTION = "A PSS of .8 or more, the dashed line, is often read as stable, which is only a convention."
BANDS = (("first", "labels (N/A among them)"), ("second", "verbatim (every distinct completion)"))
ANSWERS, SAMPLES = words("Answers", "annotation_filter"), tally("Samples", "n_samples")
PSS = Column("PSS", lambda of: of.number("pss", mark=" *" if of.row["is_degenerate"] else ""), is_figure=True)
INTERVAL = bounds("pss")
FILTERS = tuple(panels.PSS_SERIES)


def _axes(title: str, domain: panels.Domain, word: str = "", of: str = "answers") -> Axes:
    return Axes(x=title, y="PSS", domain=domain, level=panels.STABLE, at=word, of=of)


def _curves(
    rows: list[Row],
    axes: Axes,
    label: str,
    at: str,
    series_of: str = "annotation_filter",
    series: Sequence[str] = FILTERS,
) -> Markup:
    # over the column `at`, a line per value of the column `series_of`
    points = [point(MART, row, "pss", at=row[at], series=row[series_of]) for row in rows]
    return curves(points, series, axes, label)


def _draw_first_k(task: Task, rows: list[Row], axis: str, *, has_table: bool = True) -> None:
    # `axis` says of what the first k are taken
    domain = _domain_of(rows)

    def first_k(rows: list[Row], who: str) -> Drawn:
        names = {"series": "annotation_filter", "k": "n_annotators", "pss": "pss", "low": "pss_low", "high": "pss_high"}
        points = [renamed(row, names) | {"figure": figure_id(MART, row, "pss")} for row in rows]
        last = {row["annotation_filter"]: f"{row['annotation_filter']} {with_ends(row, 'pss')}" for row in rows}
        most = max(row["n_annotators"] for row in rows)
        label = f"{who}: PSS over the first 2 to {most} {axis}; over all of them: {', '.join(last.values())}."
        return "", panels.lines(points, domain, axis, label, has_table=has_table)

    task.draw_pairs(first_k, rows)


def _domain_of(rows: Sequence[Row], column: str = "pss") -> panels.Domain:
    return panels.domain_of([row[column] if row[f"{column}_low"] is None else row[f"{column}_low"] for row in rows])


def _near_domain(rows: Sequence[Row], column: str = "pss") -> panels.Domain:
    return panels.near_domain([(row[column], row[f"{column}_low"]) for row in rows if row[column] is not None])


def _of(
    rows: Sequence[Row], *values: str, columns: Sequence[str] = ("scope", "series", "annotation_filter")
) -> list[Row]:
    return [row for row in rows if tuple(row[name] for name in columns[: len(values)]) == values]


def _starred(
    task: Task, caption: str, columns: tuple[Column, ...], rows: list[Row], starred: list[Row], most: int = MOST_ROWS
) -> None:
    # the note explains the star if one of the starred rows has it
    is_starred = any(row["is_degenerate"] for row in starred)
    star = "* There is no variation at all, so a PSS of 1 says little." if is_starred else ""
    task.table(caption, columns, rows, MART, n_heads=3, note=star, most=most)


# across tasks: all tasks in one figure, ordered by score, and a panel a task in the same order

MOST_JOINT = 8  # charts of all tasks on a page
MOST_PANELS = 24  # panels of one figure on a page
SCOPES = {"intra": "over asks of the same prompt", "inter": "over rewordings of the prompt"}
_ACROSS = {
    scope: (
        *(words("Task", "task_id"), MODEL, STRATEGY, N_SAMPLES, counted(*asked)),
        *(figure("PSS", f"pss_{scope}"), bounds(f"pss_{scope}")),
    )
    for scope, asked in (("intra", ("Asks", "n_repetitions")), ("inter", ("Variants", "n_variants")))
}


class Figures(NamedTuple):
    """One figure to draw: its name, the column whose values are its series, the series, and rows of the scorecard."""

    name: str
    series_of: str
    series: list[str]
    rows: list[Row]

    def colour(self, block: Block, rows: Sequence[Row]) -> None:
        """Writes the legend of the series, and notes how many of the rows' are drawn."""
        colour(block, self.series, len({row[self.series_of] for row in rows}), "")


def _across(section: DrawnSection, data: ReportData) -> None:
    for scope in SCOPES:
        rows = [row for row in data.scorecard if row[f"pss_{scope}"] is not None]
        if n_tasks(rows) > 1:  # a figure of one task is the task's own
            figures = _figures(rows)
            _joint(section, data, figures, rows, scope)
            _small_multiples(section, data, figures, scope)


def _figures(rows: list[Row]) -> list[Figures]:
    # one figure of all models if there is one strategy, else one per model with its strategies
    is_one = len({row["strategy"] for row in rows}) == 1
    series_of = "model_id" if is_one else "strategy"
    series = sorted({row[series_of] for row in rows})[: len(panels.SERIES)]
    models = dict(sorted(by(rows, "model_id").items()))
    groups = {"all models": rows} if is_one and len(models) > 1 else models
    shown = {name: [row for row in own if row[series_of] in series] for name, own in groups.items()}
    return [Figures(name, series_of, series, own) for name, own in shown.items() if own]


def _by_score(rows: Sequence[Row], scope: str) -> list[str]:
    means = means_of(rows, "task_id", f"pss_{scope}")
    return sorted(means, key=lambda task: (-means[task], task))


def _joint(section: DrawnSection, data: ReportData, figures: list[Figures], rows: list[Row], scope: str) -> None:
    # the table holds every row of the scorecard, drawn or not
    block = section.add(heading=f"PSS {scope}: agreement {SCOPES[scope]}", figure=f"pss-{scope}")
    figures[0].colour(block, rows)
    charts = [Chart(f"PSS {scope}, all tasks", each.name, partial(_all_tasks, each, scope)) for each in figures]
    Room(data, MOST_JOINT * n_tasks(data.scorecard)).draw(block, charts)
    ordered = _by_score(rows, scope)
    lines = sorted(rows, key=lambda row: (ordered.index(row["task_id"]), -row[f"pss_{scope}"]))
    caption = f"PSS {scope} of all tasks, the most stable first"
    block.tables.append(table(caption, _ACROSS[scope], lines, CARD, n_heads=3, file=f"pss-{scope}"))


def _all_tasks(figures: Figures, scope: str) -> Drawn:
    tasks, column = _by_score(figures.rows, scope)[: panels.MOST_BARS], f"pss_{scope}"
    rows = sorted((row for row in figures.rows if row["task_id"] in tasks), key=lambda row: tasks.index(row["task_id"]))
    points = [point(CARD, row, column, name=row["task_id"], series=row[figures.series_of]) for row in rows]
    values = f"{len(tasks)} tasks, {span([row['value'] for row in points])}"
    label = f"{cut(figures.name, NAME)}: PSS {scope} of {values}."
    return values, panels.ranges(points, figures.series, _near_domain(rows, column), "PSS", label, "of", panels.STABLE)


def _small_multiples(section: DrawnSection, data: ReportData, figures: list[Figures], scope: str) -> None:
    # a page has room for the panels of the first figure only
    drawn = figures[:1] if is_limited() else figures
    for each in drawn:
        rows = _along(data, each, scope)
        of_task = by(rows, "task_id")
        if len(of_task) < 2:  # noqa: PLR2004 - as above
            continue
        title = "number of repetitions" if scope == "intra" else "number of wordings"
        at = "n_annotators"
        if rows[0]["paraphrase_temperature"] is not None:
            title, at = "paraphrase temperature", "paraphrase_temperature"
        block = section.add(heading=f"PSS {scope} by {title}: {each.name}", figure=f"pss-{scope}-by-task")
        each.colour(block, each.rows)
        draw = partial(_panel, each, title, at, _near_domain(rows))
        tasks = [task for task in _by_score(each.rows, scope) if task in of_task]
        charts = [Chart(task, each.name, partial(draw, of_task[task])) for task in tasks]
        Room(data, MOST_PANELS * n_tasks(data.scorecard)).draw(block, charts, "panels")
        if len(drawn) < len(figures):
            some = f"One of {len(figures)} models is drawn"
            block.notes.append(f"{some}; `promptaudit report --charts` draws all of them.")


def _along(data: ReportData, figures: Figures, scope: str) -> list[Row]:
    # by temperature if there is one, else over the first k annotators
    key = ("task_id", "model_id", "strategy")
    groups = {tuple(row[name] for name in key) for row in figures.rows}
    rows = _of(data["stabilities"], scope, "labels_and_na", columns=("scope", "annotation_filter"))
    known = [row for row in rows if row["pss"] is not None and tuple(row[name] for name in key) in groups]
    warm, cold = _by_temperature(known)
    return warm or cold


def _panel(figures: Figures, title: str, at: str, domain: panels.Domain, rows: list[Row]) -> Drawn:
    values = span([row["pss"] for row in rows])
    label = f"{cut(rows[0]['task_id'], NAME)}, {cut(figures.name, NAME)}: PSS by {title}, {values}."
    return values, _curves(rows, _axes(title, domain, of="of"), label, at, figures.series_of, figures.series)


stability_across_tasks = Section(
    name="stability_across_tasks",
    title="Stability across tasks",
    intro="The prompt stability of all tasks side by side, the most stable first (labels, N/A among them). Lines at "
    "a dot are 95 % intervals; of a wide one only the part near the figure is drawn. A PSS of .8 or more, the "
    "dashed line, is often read as stable, which is only a convention.",
    queries=("stabilities",),
    whole=_across,
    finding=lambda data: ends(data, f"PSS over {data.word}s", data.scorecard, "pss_inter"),
)

# by model: how stable each model is under each strategy, side by side

_SCOPES = (("pss_intra", "PSS intra", "by repetition"), ("pss_inter", "PSS inter", "by wording"))
_BY_MODEL = (
    *(MODEL, STRATEGY, Column("Samples", lambda of: plain(of.samples()), is_figure=True)),
    *(figure("PSS intra", "pss_intra"), bounds("pss_intra"), figure("PSS inter", "pss_inter"), bounds("pss_inter")),
)


def _fill_by_model(task: Task) -> None:
    models = list(dict.fromkeys(row["model_id"] for row in task.scored))
    if len(models) > panels.MOST_BARS:
        note_some(task.block, f"{panels.MOST_BARS} of {len(models)} models are drawn")
    shown = task.strategies(task.scored)
    drawn = [row for row in task.scored if row["model_id"] in models[: panels.MOST_BARS] and row["strategy"] in shown]
    charts = []
    for name, title, respect in _SCOPES:
        if known := [row for row in drawn if row[name] is not None]:
            charts.append(Chart(title, respect, partial(_models, known, shown, name, title, task.name)))
    task.draw(charts)
    task.table("PSS by model", _BY_MODEL, task.scored, CARD, most=task.n_rows)


def _models(rows: list[Row], shown: list[str], name: str, title: str, task: str) -> Drawn:
    names = {"name": "model_id", "series": "strategy", "value": name, "low": f"{name}_low", "high": f"{name}_high"}
    points = [renamed(row, names) for row in rows]
    least, most = min(rows, key=lambda row: row[name]), max(rows, key=lambda row: row[name])
    between = " to ".join(f"{number(row[name])} ({cut(row['model_id'], NAME)})" for row in (least, most))
    label = f"{task}: {title} of {len({row['name'] for row in points})} models by strategy, from {between}."
    drawing = panels.ranges(points, shown, _domain_of(rows, name), title, label, "strategy", panels.STABLE)
    return span([row[name] for row in rows]), drawing


def _of_models(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "pss_inter")
    for name in ("model_id", "strategy"):
        means = means_of(rows, name, "pss_inter")
        if len(means) > 1:
            least, most = min(means, key=lambda key: means[key]), max(means, key=lambda key: means[key])
            of_least = f"{number(means[least])} for {cut(least, NAME)}"
            return f"PSS over {data.word}s is {number(means[most])} on average for {cut(most, NAME)} and {of_least}"
    return ""


stability_by_model = Section(
    name="stability_by_model",
    title="PSS by model",
    intro="How far the labels of each model agree over identical asks (intra) and over rephrased prompts (inter, the "
    "mean over temperatures). Lines are 95 % intervals.",
    rows=lambda data: [row for row in data.scorecard if any(row[name] is not None for name, _, _ in _SCOPES)],
    of_labels=True,
    absent="No wording was asked twice and no second wording was asked, so there are no answers to compare.",
    fill=_fill_by_model,
    finding=_of_models,
)

# by repetition: the first k asks of the original wording, and each against the one before

_REPETITION = (MODEL, STRATEGY, ANSWERS, tally("Annotators", "n_annotators"), SAMPLES, PSS, INTERVAL)
_BY_K = (
    *(MODEL, STRATEGY, ANSWERS, tally("Asks", "n_annotators"), replace(PSS, heading="First k"), INTERVAL),
    *(beside(MART, column, lambda _: "") for column in (replace(PSS, heading="k against k - 1"), INTERVAL)),
)


def _fill_by_repetition(task: Task) -> None:
    rows = task.rows
    adjacent = _of(task.of("stabilities"), "intra", "adjacent")
    task.block.legend = BANDS
    _draw_first_k(task, rows, "asks of the same prompt", has_table=False)
    if any(row["n_annotators"] > 2 for row in adjacent):  # noqa: PLR2004 - with two asks both are the same
        draw = partial(_adjacent_asks, domain=_domain_of(adjacent))
        task.draw(task.pairs(adjacent, draw), "charts of adjacent asks")
    last = list(keyed(rows, "model_id", "strategy", "annotation_filter").values())
    _starred(task, "PSS over all repetitions", _REPETITION, last, rows)
    key = ("model_id", "strategy", "annotation_filter", "n_annotators")
    same_k = keyed(adjacent, *key)
    lines = [{**row, MART: same_k.get(tuple(row[name] for name in key))} for row in rows]
    _starred(task, "PSS by number of asks", _BY_K, lines, [*rows, *adjacent], task.n_rows)


def _adjacent_asks(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    values = span([row["pss"] for row in rows if row["pss"] is not None])
    label = f"{who}: PSS of each ask of the same prompt with the ask before, {values}."
    return f"adjacent, {values}", _curves(rows, _axes("ask k against ask k - 1", domain, "ask"), label, "n_annotators")


NEVER_TWICE = "No wording is asked twice, so nothing tells how far a model agrees with itself"


@of_extreme(lambda data: data.scorecard, "pss_intra", min, NEVER_TWICE)
def _with_itself(worst: Row, _: ReportData) -> str:
    if worst["pss_intra"] == 1:
        return "Asked again in the same words, every model answers the same"
    figure = with_ends(worst, "pss_intra")
    return f"Asked again in the same words, {whose(worst)} agrees with itself least: PSS {figure}"


stability_by_repetition = Section(
    name="stability_by_repetition",
    title="PSS by repetition",
    intro="Agreement of a model with itself over the first k identical asks of the original wording (cumulative), and of each "
    f"ask with the one before (adjacent); 1 is perfect. Bands and lines are 95 % intervals. {CONVENTION}",
    queries=("stabilities",),
    rows=lambda data: _of(data["stabilities"], "intra", "cumulative"),
    of_labels=True,
    absent=ASKED_ONCE,
    fill=_fill_by_repetition,
    finding=_with_itself,
)

# over wordings: by paraphrase temperature, or by their number, and between models

_NOTE = (
    "Intra is over the asks of one prompt, inter over wordings. Until within: how many asks or wordings it takes until PSS stays "
    "so near to what it is over all of them. Neighbours: each against the one before. Least, range and the share below .8 are "
    "of temperatures; without temperatures the share is of neighbours."
)


def _temperature(of: Traced) -> str:
    return "none" if of.row["paraphrase_temperature"] is None else f"{of.row['paraphrase_temperature']:g}"


_WORDINGS = (
    *(MODEL, STRATEGY, ANSWERS, Column("Temperature", _temperature, is_figure=True)),
    *(tally("Variants", "n_annotators"), tally("Distinct wordings", "n_distinct_wordings"), SAMPLES, PSS),
    *(bounds("pss", "95 % interval, these wordings"), bounds("pss_wordings", "for other wordings too")),
)
_TRENDS = (
    *(MODEL, STRATEGY, Column("Verdict", lambda of: of.row["verdict"].replace("_", " "))),
    words("Reason", "reason", ABSENT),
    *(tally("Temperatures", "n_temperatures"), tally("Samples", "n_samples")),
    *(figure("Change of PSS", "difference"), bounds("difference", "95 % interval"), figure("q", "q_value")),
)
_SUMMARIES = (
    *(MODEL, STRATEGY, words("Over", "scope")),
    *(counted("Until within .01", "n_until_within_01"), counted("within .02", "n_until_within_02")),
    *(figure("Farthest off", "largest_deviation"), figure("Neighbours, mean", "adjacent_mean")),
    *(figure("IQR", "adjacent_iqr"), figure("Least", "pss_min"), figure("at temperature", "temperature_of_min")),
    *(figure("Range", "pss_range"), figure("Below .8", "below_rate", Traced.percent)),
)
_MODELS = (STRATEGY, ANSWERS, tally("Models", "n_annotators"), SAMPLES, PSS, INTERVAL)


def _over_wordings(data: ReportData) -> list[Row]:
    return _of(data["stabilities"], "inter")


def _fill_over_wordings(task: Task) -> None:
    warm, cold = _by_temperature(task.rows)
    if warm or cold:
        task.block.legend = BANDS
    if warm:
        task.draw_pairs(partial(_temperatures, domain=_domain_of(warm)), warm)
    if cold:
        _draw_first_k(task, cold, "wordings")
    everything = [row for row in task.rows if row["series"] == "all"]
    _starred(task, "PSS over prompt variants", _WORDINGS, everything, everything)


def _by_temperature(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    warm, cold = (
        [row for row in rows if row["series"] == series and (row["paraphrase_temperature"] is not None) == is_warm]
        for series, is_warm in (("all", True), ("cumulative", False))
    )
    return warm, cold


def _fill_trends(task: Task) -> None:
    caption = "PSS from the lowest temperature to the highest"
    task.table(caption, _TRENDS, task.of("stability_trends"), "fct_stability_trends")
    caption = "PSS of valid labels in single figures, as Barrie et al. give them"
    summaries = task.of("stability_summaries")
    task.table(caption, _SUMMARIES, summaries, "rpt_stability_summaries", n_heads=3, note=_NOTE)
    between = _of(task.of("stabilities"), "inter_model", "all")
    task.table("PSS between models, original wording, first ask", _MODELS, between, MART)


def _temperatures(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    labels = [row for row in rows if row["annotation_filter"] == "labels_and_na"][:12]
    values = "; ".join(f"{row['paraphrase_temperature']:g}: {number(row['pss'])}" for row in labels)
    label = f"{who}: PSS at each paraphrase temperature, of labels: {values}."
    axes = _axes("paraphrase temperature", domain, "temperature")
    return "", _curves(rows, axes, label, "paraphrase_temperature")


def _falling(data: ReportData) -> str:
    known = known_rows(data, data["stability_trends"], "difference_low")
    if not known:
        return ""
    falling = [row for row in known if row["verdict"] == "falls"]
    unknown = len(known_rows(data, data["stability_trends"], "difference")) - len(known)
    left_out = f" ({unknown} could not be tested)" if unknown else ""
    if not falling:
        return f"; a fall with the temperature is shown in none of {len(known)} groups{left_out}"
    most = min(falling, key=lambda row: row["difference"])
    size = moved(most["difference"], most["difference_low"], most["difference_high"])
    return f"; it falls with the temperature in {len(falling)} of {len(known)} groups{left_out}, most for {whose(most)}: {size}"


def _below(data: ReportData) -> str:
    known = known_rows(data, _of(data["stabilities"], "inter", "all", "labels_and_na"), "pss")
    if not known:
        return "Only one prompt variant was asked, so nothing tells how far answers agree between them"
    warm = [row for row in known if row["paraphrase_temperature"] is not None]
    if warm:
        below = [row for row in warm if row["pss"] < panels.STABLE]
        if not below:
            hottest = max(row["paraphrase_temperature"] for row in warm)
            return f"PSS stays at .8 or above at every paraphrase temperature, up to {hottest:g}{_falling(data)}"
        first = min(below, key=lambda row: (row["paraphrase_temperature"], row["pss"]))
        return f"PSS falls below .8 from temperature {first['paraphrase_temperature']:g} for {whose(first)}{_falling(data)}"
    n = sum(row["pss"] < panels.STABLE for row in known)
    if not n:
        everywhere = "the one group" if len(known) == 1 else f"all {len(known)} groups"
        return f"PSS over {data.word}s is .8 or above for {everywhere}"
    worst = min(known, key=lambda row: row["pss"])
    lowest = f"lowest for {whose(worst)}: {number(worst['pss'])}"
    return f"PSS over {data.word}s is below .8 for {n} of {len(known)} groups, {lowest}"


stability_by_wording = Section(
    name="stability_by_wording",
    title=lambda data: (
        "PSS by paraphrase temperature"
        if any(row["paraphrase_temperature"] is not None for row in _over_wordings(data))
        else "PSS by number of wordings"
    ),
    intro="Agreement of a model with itself over rephrased prompts, original included: at each temperature of the rephraser, "
    f"or over the first k wordings where it has none. Lines and bands are 95 % intervals. {CONVENTION}",
    queries=("stabilities", "stability_summaries", "stability_trends"),
    rows=_over_wordings,
    of_labels=True,
    absent=lambda task: why_one_variant(task.scored, "PSS over prompt variants"),
    fill=_fill_over_wordings,
    also=_fill_trends,
    finding=_below,
)

# of a part of the samples

NEAR = 0.05  # of PSS: a part of the samples says as much
_PARTS = {"intra": "by repetition", "inter": "over prompt variants"}
_SHARES = (
    *(MODEL, STRATEGY, figure("Share of samples", "sample_share", Traced.percent)),
    *(N_SAMPLES, figure("PSS", "pss"), bounds("pss")),
)


def _fill_shares(task: Task) -> None:
    scopes = list(_PARTS)
    key = ("model_id", "strategy", "sample_share")
    rows = sorted(task.rows, key=lambda row: (scopes.index(row["scope"]), *(row[name] for name in key)))
    shown = task.strategies(rows)
    draw = partial(_shares, shown=shown, domain=_near_domain(rows))
    of_scopes = by([row for row in rows if row["strategy"] in shown], "scope").items()
    # scopes by turns, so that both are seen where there is room for few
    charts = zip_longest(*(task.models(own, _PARTS[scope], draw) for scope, own in of_scopes))
    task.draw([chart for chart in chain.from_iterable(charts) if chart is not None])
    for scope, own in by(rows, "scope").items():
        task.table(f"PSS {_PARTS[scope]} of a part of the samples", _SHARES, own, SHARES, most=task.n_rows)


def _shares(rows: list[Row], who: str, *, shown: list[str], domain: panels.Domain) -> Drawn:
    points = [
        point(SHARES, row, "pss", series=row["strategy"], at=row["sample_share"], n=row["n_samples"]) for row in rows
    ]
    shares = ", ".join(map(percent, sorted({row["at"] for row in points})))
    of = f"{_PARTS[rows[0]['scope']]} by share of the samples ({shares})"
    axes = replace(_axes("share of the samples", domain, "share of samples", "strategy"), format=".0%")
    return "", curves(points, shown, axes, f"{who}: PSS {of}: {spans_of(points)}.")


def _enough(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["subsamples"], "pss") if row.get("scope") == "inter"]
    whole = {group_of(row): row["pss"] for row in rows if row["sample_share"] == 1}
    apart: dict[float, float] = {}
    for row in rows:
        if group_of(row) in whole:
            share = row["sample_share"]
            apart[share] = max(apart.get(share, 0.0), abs(row["pss"] - whole[group_of(row)]))
    shares = sorted(apart)
    enough = next(
        (share for place, share in enumerate(shares) if all(apart[later] <= NEAR for later in shares[place:])), None
    )
    if enough is None or len(shares) < 2:  # noqa: PLR2004 - the whole alone
        return ""
    if enough == 1:
        return f"PSS of {percent(shares[-2])} of the samples is up to {number(apart[shares[-2]])} away from that of all"
    return f"{percent(enough)} of the samples give PSS over {data.word}s to within {NEAR:g} of that of all"


subsamples = Section(
    name="subsamples",
    title="PSS by share of the samples",
    intro="PSS of the labels by repetition and over prompt variants (mean over paraphrase temperatures), on a part "
    "of the samples. The samples are chosen by a hash of the run's seed and their name, so that each part lies "
    "within the next; the formula and the 95 % interval are those of the whole. Parts of fewer than three "
    "samples are left out. Of a wide interval only the upper part is drawn; the table has the whole.",
    queries=("subsamples",),
    rows=lambda data: [row for row in data["subsamples"] if row["pss"] is not None and row["scope"] in _PARTS],
    of_labels=True,
    absent="Nothing was asked twice, under one wording or two, so there is nothing to compare.",
    fill=_fill_shares,
    finding=_enough,
)
