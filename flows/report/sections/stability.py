"""The sections on PSS: by repetition, by wording, between models."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from markupsafe import Markup

from flows.display.figures import number, ranged, span
from flows.report.blocks.blocks import MOST_ROWS, Block, Section, Table, by, keyed
from flows.report.blocks.cells import Traced
from flows.report.charts import panels
from flows.report.charts.curves import Axes, curves
from flows.report.gather import ReportData
from flows.report.sections.columns import MODEL, STRATEGY, Column, beside, bounds, table, tally, words
from flows.report.sections.reasons import ASKED_ONCE, why_no_answers, why_one_variant, why_open
from flows.report.sections.room import Drawn, Room, charts_of_pairs, point
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

MART = "fct_prompt_stability"
CONVENTION = "A threshold of .8, the dashed line, is often read as stable; that is a convention, and no law."
_BANDS = (("first", "labels (valid answers)"), ("second", "verbatim (every distinct completion)"))
_SERIES = tuple(panels.PSS_SERIES)


def _temperature(of: Traced) -> str:
    return "none" if of.row["paraphrase_temperature"] is None else f"{of.row['paraphrase_temperature']:g}"


_ANSWERS, _SAMPLES = words("Answers", "annotation_filter"), tally("Samples", "n_samples")
_PSS = Column("PSS", lambda of: of.number("pss", mark=" *" if of.row["is_degenerate"] else ""), is_figure=True)
_INTERVAL = bounds("pss")
_REPETITION = (MODEL, STRATEGY, _ANSWERS, tally("Annotators", "n_annotators"), _SAMPLES, _PSS, _INTERVAL)
_BY_K = (
    MODEL, STRATEGY, _ANSWERS, tally("Asks", "n_annotators"), replace(_PSS, heading="First k"), _INTERVAL,
    *(beside(MART, column, lambda _: "") for column in (replace(_PSS, heading="k against k - 1"), _INTERVAL)),
)  # fmt: skip
_WORDINGS = (
    MODEL, STRATEGY, _ANSWERS, Column("Temperature", _temperature, is_figure=True), tally("Variants", "n_annotators"),
    tally("Distinct wordings", "n_distinct_wordings"), _SAMPLES, _PSS, bounds("pss", "95 % interval, these wordings"),
    bounds("pss_wordings", "for other wordings too"),
)  # fmt: skip
_MODELS = (STRATEGY, _ANSWERS, tally("Models", "n_annotators"), _SAMPLES, _PSS, _INTERVAL)


def repetition(data: ReportData, room: Room) -> Section:
    """Returns PSS of the original wording over its identical asks: the first k, and each against the one before."""
    section = Section(
        "repetition",
        "PSS by repetition",
        "Agreement of a model with itself over the first k identical asks of the original wording (cumulative), and of each "
        f"ask with the one before (adjacent); 1 is perfect. Bands and lines are 95 % intervals. {CONVENTION}",
    )
    intra = [row for row in data.stabilities if row["scope"] == "intra"]
    rows_of = by([row for row in intra if row["series"] == "cumulative"], "task_id")
    adjacent_of = by([row for row in intra if row["series"] == "adjacent"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        block.legend = _BANDS
        if task_id not in rows_of:
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or ASKED_ONCE)
            continue
        rows, adjacent = rows_of[task_id], adjacent_of.get(task_id, [])
        _draw_series(block, rows, room, "asks of the same prompt", has_table=False)
        if any(row["n_annotators"] > 2 for row in adjacent):  # noqa: PLR2004 - with two asks both are the same
            draw = partial(_adjacent_asks, domain=_domain(adjacent))
            room.draw(block, charts_of_pairs(adjacent, task_id, draw), "charts of adjacent asks")
        last = list(keyed(rows, "model_id", "strategy", "annotation_filter").values())
        block.tables.append(_table("PSS over all repetitions", _REPETITION, last, rows))
        key = ("model_id", "strategy", "annotation_filter", "n_annotators")
        same_k = keyed(adjacent, *key)
        lines = [{**row, MART: same_k.get(tuple(row[name] for name in key))} for row in rows]
        block.tables.append(_table("PSS by number of asks", _BY_K, lines, [*rows, *adjacent], room.n_rows))
    return section


def paraphrase(data: ReportData, room: Room) -> Section:
    """Returns PSS over wordings: by paraphrase temperature, or by their number where there is no temperature."""
    inter = [row for row in data.stabilities if row["scope"] == "inter"]
    is_warm = any(row["paraphrase_temperature"] is not None for row in inter)
    section = Section(
        "paraphrase",
        "PSS by paraphrase temperature" if is_warm else "PSS by number of wordings",
        "Agreement of a model with itself over rephrased prompts, original included: at each temperature of the rephraser, "
        f"or over the first k wordings where it has none. Lines and bands are 95 % intervals. {CONVENTION}",
    )
    rows_of = by(inter, "task_id")
    between = [row for row in data.stabilities if row["scope"] == "inter_model" and row["series"] == "all"]
    between_of = by(between, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id in rows_of:
            _of_wordings(block, rows_of[task_id], room)
        else:
            block.absent.append(why_open(data, task_id) or why_one_variant(scored, "PSS over prompt variants"))
        if task_id in between_of:
            caption = "PSS between models, original wording, first ask"
            block.tables.append(table(caption, _MODELS, between_of[task_id], MART))
    return section


def _of_wordings(block: Block, rows: list[Row], room: Room) -> None:
    warm = [row for row in rows if row["paraphrase_temperature"] is not None and row["series"] == "all"]
    cold = [row for row in rows if row["paraphrase_temperature"] is None and row["series"] == "cumulative"]
    if warm or cold:
        block.legend = _BANDS
    if warm:
        draw = partial(_temperatures, domain=_domain(warm))
        room.draw_pairs(block, charts_of_pairs(warm, block.task_id, draw))
    if cold:
        _draw_series(block, cold, room, "wordings")
    everything = [row for row in rows if row["series"] == "all"]
    block.tables.append(_table("PSS over prompt variants", _WORDINGS, everything, everything))


def _draw_series(block: Block, rows: list[Row], room: Room, axis: str, *, has_table: bool = True) -> None:
    draw = partial(_first_k, domain=_domain(rows), axis=axis, has_table=has_table)
    room.draw_pairs(block, charts_of_pairs(rows, block.task_id, draw))


def _first_k(rows: list[Row], who: str, *, domain: panels.Domain, axis: str, has_table: bool) -> Drawn:
    points = [
        {"series": row["annotation_filter"], "k": row["n_annotators"], "pss": row["pss"], "low": row["pss_low"],
         "high": row["pss_high"], "figure": figure_id(MART, row, "pss")}
        for row in rows
    ]  # fmt: skip
    last = {row["annotation_filter"]: row for row in rows}
    values = ", ".join(f"{name} {ranged(row['pss'], row['pss_low'], row['pss_high'])}" for name, row in last.items())
    most = max(row["n_annotators"] for row in rows)
    label = f"{who}: PSS over the first 2 to {most} {axis}; over all of them: {values}."
    return "", panels.lines(points, domain, axis, label, has_table=has_table)


def _temperatures(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    valid = [row for row in rows if row["annotation_filter"] == "valid"][:12]
    values = "; ".join(f"{row['paraphrase_temperature']:g}: {number(row['pss'])}" for row in valid)
    label = f"{who}: PSS at each paraphrase temperature, of labels: {values}."
    return "", _curves(rows, "paraphrase_temperature", "paraphrase temperature", "temperature", domain, label)


def _adjacent_asks(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    values = span([row["pss"] for row in rows if row["pss"] is not None])
    label = f"{who}: PSS of each ask of the same prompt with the ask before, {values}."
    return f"adjacent, {values}", _curves(rows, "n_annotators", "ask k against ask k - 1", "ask", domain, label)


def _curves(  # noqa: PLR0913 - what the axis says
    rows: list[Row], at: str, title: str, word: str, domain: panels.Domain, label: str
) -> Markup:
    points = [point(MART, row, "pss", at=row[at], series=row["annotation_filter"]) for row in rows]
    axes = Axes(x=title, y="PSS", ticks=sorted({row[at] for row in rows}), domain=domain, level=panels.STABLE)
    fields = {"series": "answers", "at": word, "value": "PSS", "low": "low", "high": "high"}
    return curves(points, _SERIES, axes, fields, label)


def _domain(rows: list[Row]) -> panels.Domain:
    return panels.domain_of([row["pss_low"] if row["pss_low"] is not None else row["pss"] for row in rows])


def _table(
    caption: str, columns: tuple[Column, ...], rows: list[Row], starred: list[Row], most: int = MOST_ROWS
) -> Table:
    """A table whose note explains the star, where one of the starred rows has it."""
    star = "* no variation at all, so that 1 says little." if any(row["is_degenerate"] for row in starred) else ""
    return table(caption, columns, rows, MART, n_heads=3, note=star, most=most)
