"""The section on kinds of variation: which of them moves answers, beyond what repeating a prompt gives, and which most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.blocks.blocks import DrawnSection, by, by_pair
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, Column, counted, figure, table
from promptaudit.report.sections.room import Drawn, Room, charts_of_models, colour, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number, ranged
from promptaudit.warehouse import Row

MART = "fct_variations"
TITLE = "What moves the answers"
INTERVAL = "95 % interval"
LARGEST = "moves_most"
SAYS = {
    LARGEST: "moves answers most",
    "moves": "moves answers",
    "not_told": "not told from repeating",
    "not_measured": "not measured",
}
KEPT = (
    "Repetitions hardly ever differ, as where a provider keeps its answers. So the noise is the disagreement "
    "of the kind that has the least, and an effect is what another kind has beyond that."
)
NO_NOISE = "Without two asks of a variant it is not known what repeating a prompt gives, so no kind has an effect."


def kind(row: Row) -> str:
    """Returns a kind of variation in words."""
    return str(row["variation"]).replace("_", " ")


def _measure(of: Traced, name: str) -> Printed:
    return of.measure(mart_columns(MART)[name])


def _bounds(of: Traced, name: str) -> Printed:
    return of.bounds_of(mart_columns(MART)[name])


_COLUMNS = (
    MODEL,
    STRATEGY,
    Column("Kind", lambda of: kind(of.row)),
    Column("Verdict", lambda of: SAYS[of.row["verdict"]]),
    counted("Variants", "n_variants"),
    N_SAMPLES,
    figure("Disagreement", "disagreement"),
    figure("of repeating", "noise"),
    figure("Effect", "effect", _measure),
    figure(INTERVAL, "effect", _bounds),
    figure("Share of effects", "effect_share", Traced.share),
    figure("Sensitivity", "sensitivity"),
    figure(INTERVAL, "sensitivity", _bounds),
    figure("Consistency", "consistency"),
    figure("PSS inter", "pss_inter", _measure),
    figure(INTERVAL, "pss_inter", _bounds),
)
_POSIX = figure("POSIX", "posix")


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows = data["variations"]
    for task_id, own in by(rows, "task_id").items():
        block = section.add(task_id)
        block.findings = [(_said(pair), f"{model}, {strategy}") for (model, strategy), pair in by_pair(own).items()]
        measured = [row for row in own if row["effect"] is not None]
        if measured:
            draw = partial(_ranges, series=colour(block, measured), domain=_domain(measured))
            room.draw(block, charts_of_models(measured, task_id, "effect", draw))
        else:
            block.absent.append(NO_NOISE)
        if any(row.get("noise_from") == "variants" for row in own):
            block.absent.append(KEPT)
        has_posix = any(row["posix"] is not None for row in own)
        columns = (*_COLUMNS, _POSIX) if has_posix else _COLUMNS
        block.tables.append(table("Measures by kind of variation", columns, own, MART, n_heads=3, most=room.n_rows))


def finding(rows: Sequence[Row]) -> str:
    """Returns in a sentence which kind moves the answers of which model most, that with the largest effect."""
    largest = sorted((row for row in rows if row["verdict"] == LARGEST), key=lambda row: -row["effect"])
    if not largest:
        moving = list(dict.fromkeys(kind(row) for row in rows if row["verdict"] == "moves"))
        if moving:
            return _begun(_moving(moving))
        is_measured = any(row["effect"] is not None for row in rows)
        return "No kind of variation is told from repeating" if is_measured else "Not measured without repetitions"
    first = largest[0]
    on = f" on {cut(first['task_id'], NAME)}" if len({row["task_id"] for row in rows}) > 1 else ""
    rest = f"; {len(largest) - 1} more below" if len(largest) > 1 else ""
    of_whom = f"{cut(first['model_id'], NAME)}{on}"
    return _begun(f"{kind(first)} moves answers of {of_whom} most, {_effect(first)} beyond repeating{rest}")


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _moving(kinds: Sequence[str]) -> str:
    *most, last = kinds
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{listed} {'move' if most else 'moves'} answers, none told from all others"


def _effect(row: Row) -> str:
    return ranged(row["effect"], row["effect_low"], row["effect_high"])


def _said(rows: Sequence[Row]) -> str:
    """Returns what is found of one model and strategy."""
    largest = [row for row in rows if row["verdict"] == LARGEST]
    if largest:
        return f"{kind(largest[0])} moves answers most, {_effect(largest[0])}"
    moving = [kind(row) for row in rows if row["verdict"] == "moves"]
    if moving:
        return _moving(moving)
    is_measured = any(row["effect"] is not None for row in rows)
    return "no kind told from repeating" if is_measured else "not measured"


def _ranges(rows: list[Row], who: str, *, series: Sequence[str], domain: panels.Domain) -> Drawn:
    own = [row for row in rows if row["strategy"] in series]
    points = [point(MART, row, "effect", name=kind(row), series=row["strategy"]) for row in own]
    strongest = max(own, key=lambda row: row["effect"])
    label = (
        f"{who}: effect of each kind of variation beyond repeating; {kind(strongest)} {number(strongest['effect'])}."
    )
    drawing = panels.ranges(
        points, list(series), domain, "beyond repeating", label, "strategy", level=0.0, names_what="kind"
    )
    return "", drawing


def _domain(rows: Sequence[Row]) -> panels.Domain:
    """Returns an axis of tenths around all intervals, 0 within it."""
    ends = [row[name] for row in rows for name in ("effect", "effect_low", "effect_high") if row[name] is not None]
    return min(0.0, math.floor(min(ends) * 10) / 10), max(0.1, math.ceil(max(ends) * 10) / 10)


def _finding(data: ReportData) -> str:
    return finding(data["variations"])


variations = Section(
    name="variations",
    title=TITLE,
    intro=(
        "An effect is how often two prompts that differ in one kind alone get different answers, minus how often "
        "two asks of one prompt do; it is 0 where the kind moves nothing. Lines are 95 % intervals for other "
        "samples and other variants of the kind. A kind is named where its effect differs from zero and from that "
        "of every other kind."
    ),
    fill=_fill,
    finding=_finding,
    queries=("variations",),
    is_optional=True,
)
