"""The section on PSS over wordings: by paraphrase temperature, or by their number, and between models."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import Block, DrawnSection, by
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, bounds, counted, figure, table, tally, words
from promptaudit.report.sections.extremes import known_rows, whose
from promptaudit.report.sections.reasons import why_one_variant, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.report.sections.stability_curves import (
    ANSWERS,
    BANDS,
    CONVENTION,
    INTERVAL,
    MART,
    PSS,
    SAMPLES,
    curves_of,
    domain_of,
    draw_series,
    starred_table,
)
from promptaudit.system.display.figures import ABSENT, moved, number
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

_NOTE = (
    "Intra is over the asks of one prompt, inter over wordings. Until within: how many asks or wordings it takes until PSS stays "
    "so near to what it is over all of them. Neighbours: each against the one before. Least, range and the share below .8 are "
    "of temperatures; without temperatures the share is of neighbours."
)


def _temperature(of: Traced) -> str:
    return "none" if of.row["paraphrase_temperature"] is None else f"{of.row['paraphrase_temperature']:g}"


_WORDINGS = (
    MODEL,
    STRATEGY,
    ANSWERS,
    Column("Temperature", _temperature, is_figure=True),
    tally("Variants", "n_annotators"),
    tally("Distinct wordings", "n_distinct_wordings"),
    SAMPLES,
    PSS,
    bounds("pss", "95 % interval, these wordings"),
    bounds("pss_wordings", "for other wordings too"),
)
_TRENDS = (
    MODEL,
    STRATEGY,
    Column("Verdict", lambda of: of.row["verdict"].replace("_", " ")),
    Column("Reason", lambda of: of.row["reason"] or ABSENT),
    tally("Temperatures", "n_temperatures"),
    tally("Samples", "n_samples"),
    figure("Change of PSS", "difference"),
    bounds("difference", "95 % interval"),
    figure("q", "q_value"),
)
_SUMMARIES = (
    MODEL,
    STRATEGY,
    words("Over", "scope"),
    counted("Until within .01", "n_until_within_01"),
    counted("within .02", "n_until_within_02"),
    figure("Farthest off", "largest_deviation"),
    figure("Neighbours, mean", "adjacent_mean"),
    figure("IQR", "adjacent_iqr"),
    figure("Least", "pss_min"),
    figure("at temperature", "temperature_of_min"),
    figure("Range", "pss_range"),
    figure("Below .8", "below_rate", Traced.percent),
)
_MODELS = (STRATEGY, ANSWERS, tally("Models", "n_annotators"), SAMPLES, PSS, INTERVAL)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    inter = [row for row in data["stabilities"] if row["scope"] == "inter"]
    if any(row["paraphrase_temperature"] is not None for row in inter):
        section.title = "PSS by paraphrase temperature"
    rows_of = by(inter, "task_id")
    trends_of, summaries_of = by(data["stability_trends"], "task_id"), by(data["stability_summaries"], "task_id")
    between = [row for row in data["stabilities"] if row["scope"] == "inter_model" and row["series"] == "all"]
    between_of = by(between, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id in rows_of:
            _of_wordings(block, rows_of[task_id], room)
        else:
            block.absent.append(why_open(data, task_id) or why_one_variant(scored, "PSS over prompt variants"))
        if task_id in trends_of:
            caption = "PSS from the lowest temperature to the highest"
            block.tables.append(table(caption, _TRENDS, trends_of[task_id], "fct_stability_trends"))
        if task_id in summaries_of:
            caption = "PSS of valid labels in single figures, as Barrie et al. give them"
            block.tables.append(
                table(caption, _SUMMARIES, summaries_of[task_id], "rpt_stability_summaries", n_heads=3, note=_NOTE)
            )
        if task_id in between_of:
            caption = "PSS between models, original wording, first ask"
            block.tables.append(table(caption, _MODELS, between_of[task_id], MART))


def _of_wordings(block: Block, rows: list[Row], room: Room) -> None:
    warm = [row for row in rows if row["paraphrase_temperature"] is not None and row["series"] == "all"]
    cold = [row for row in rows if row["paraphrase_temperature"] is None and row["series"] == "cumulative"]
    if warm or cold:
        block.legend = BANDS
    if warm:
        draw = partial(_temperatures, domain=domain_of(warm))
        room.draw_pairs(block, charts_of_pairs(warm, block.task_id, draw))
    if cold:
        draw_series(block, cold, room, "wordings")
    everything = [row for row in rows if row["series"] == "all"]
    block.tables.append(starred_table("PSS over prompt variants", _WORDINGS, everything, everything))


def _temperatures(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    labels = [row for row in rows if row["annotation_filter"] == "labels_and_na"][:12]
    values = "; ".join(f"{row['paraphrase_temperature']:g}: {number(row['pss'])}" for row in labels)
    label = f"{who}: PSS at each paraphrase temperature, of labels: {values}."
    return "", curves_of(rows, "paraphrase_temperature", "paraphrase temperature", "temperature", domain, label)


def _falling(data: ReportData) -> str:
    """In how many groups PSS falls as the temperature rises, and where most; nothing without a trend."""
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


def _all(n: int) -> str:
    return "the one group" if n == 1 else f"all {n} groups"


def _finding(data: ReportData) -> str:
    rows = [
        row
        for row in data["stabilities"]
        if (row["scope"], row["series"], row["annotation_filter"]) == ("inter", "all", "labels_and_na")
    ]
    known = known_rows(data, rows, "pss")
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
        return f"PSS over {word_for(data.variants)}s is .8 or above for {_all(len(known))}"
    worst = min(known, key=lambda row: row["pss"])
    lowest = f"lowest for {whose(worst)}: {number(worst['pss'])}"
    return f"PSS over {word_for(data.variants)}s is below .8 for {n} of {len(known)} groups, {lowest}"


stability_by_wording = Section(
    name="stability_by_wording",
    title="PSS by number of wordings",
    intro=(
        "Agreement of a model with itself over rephrased prompts, original included: at each temperature of the rephraser, "
        f"or over the first k wordings where it has none. Lines and bands are 95 % intervals. {CONVENTION}"
    ),
    fill=_fill,
    finding=_finding,
    queries=("stabilities", "stability_summaries", "stability_trends"),
)
