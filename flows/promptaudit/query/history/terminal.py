"""Draws the history of a measure for a terminal: a sparkline a series, and its nights as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptaudit.query.history.nights import DATED, night_names
from promptaudit.registry.mart_columns import compared_unit, mart_columns
from promptaudit.system.display.columns import FIGURES, FOLDED, drawn
from promptaudit.system.display.figures import (
    ABSENT,
    LONG,
    NAME,
    count,
    counted_of,
    cut,
    interval,
    number,
    plural,
    share,
    tally,
    usd,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from promptaudit.query.history.measure import History, Night, Series

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = "·"
MOST_TABLES = 12
RUN = 8  # characters of a run's id that distinguish it
NORMAL, OWN, ALARMED = "░", "●", "◆"
STRIP = 20  # characters
ALARMS = {"regressed", "improved", "changed"}
EXPLAINED = ALARMS | {"unconfirmed", "suspect"}  # verdicts whose reason is printed


def renderables_of(history: History) -> Iterator[RenderableType]:
    """Yields what rich prints: a heading, then for each series its line, its table and the reasons of its verdicts."""
    from rich.text import Text

    n = len(history.series[0].nights) if history.series else 0
    nights = f" over {plural(n, 'night')}" if n else ""
    yield Text(f"{cut(history.measure, NAME)}{nights} of audit {cut(history.audit_id, NAME)}")
    if history.alarms:
        yield Text(record(history.alarms))
    if not history.series:
        yield Text("no figure in these nights")
    for place, series in enumerate(history.series):
        yield Text(("\n" if place < MOST_TABLES else "") + line(history, series), style="bold")
        if place < MOST_TABLES and any(night.figure is not None for night in series.nights):
            yield nights_table(history, series)
            if ends := strip_ends(series):
                low, high = (printed(history.measure, end) for end in ends)
                yield Text(
                    f"{NORMAL} normal nights, 95 %   {OWN} a night   {ALARMED} one in an alarm   from {low} to {high}"
                )
            yield from (Text(reason) for reason in reasons(series))
    if len(history.series) > MOST_TABLES:
        yield Text(
            f"\ntables of the first {MOST_TABLES} of {len(history.series)} series; --model, --task and --strategy choose"
        )


def reasons(series: Series) -> list[str]:
    """Lists the reasons of the nights' verdicts, one line each. Verdicts by which nothing happened are left out."""
    return [
        f"{night.started_at:%Y-%m-%d} {verdict(night)}: {cut(night.reason, LONG)}"
        for night in series.nights
        if night.verdict in EXPLAINED and night.reason
    ]


def record(alarms: Mapping[str, int]) -> str:
    """Says in one line how an audit's alarms ended, with the share of false ones among all that ended."""
    n, n_ended = sum(alarms.values()), sum(alarms.values()) - alarms.get("standing", 0)
    false = f"; {share(alarms.get('false', 0) / n_ended)} of those that ended were false" if n_ended else ""
    return f"{plural(n, 'alarm')} in all nights: {tally(alarms)}{false}"


def line(history: History, series: Series) -> str:
    """Draws a series in one line: its names, its sparkline, the scale, its last figure."""
    names = (series.model_id, series.task_id, *(() if series.strategy is None else (series.strategy,)))
    who = " · ".join(cut(name, NAME) for name in names)
    figures = [night.figure for night in series.nights]
    curve, scale = sparkline(figures, is_share=_is_share(history.measure))
    last = next((night for night in reversed(series.nights) if night.figure is not None), None)
    if last is None:
        return f"{who}  {curve}  no figure"
    low, high = scale
    ends = f"scale {printed(history.measure, low)} to {printed(history.measure, high)}" if low < high else "all equal"
    newest = f"{printed(history.measure, last.figure)} {bounds(last)}".rstrip()
    return f"{who}  {curve}  {ends}, last {newest}"


def _is_share(measure: str) -> bool:
    # shares are drawn from 0 to 1, so that nights of .01 and .02 do not look like nothing and all
    name = measure.partition(":")[0]
    declared = mart_columns("rpt_audit").get(name)
    unit = compared_unit(name) if declared is None else declared.unit
    return name == "accuracy" or unit in ("share", "rate")


def sparkline(figures: Sequence[float | None], *, is_share: bool) -> tuple[str, tuple[float, float]]:
    """Draws one character a figure on eight steps, `·` where there is none, and gives the scale's ends too.

    Shares are drawn on 0 to 1 as far as they all lie there. Anything else is drawn from its smallest to its largest
    figure, on the middle step where all are equal. Without any figure the ends are 0 and 1.
    """
    known = [figure for figure in figures if figure is not None]
    low, high = min(known, default=0), max(known, default=1)
    if is_share and low >= 0 and high <= 1:
        low, high = 0, 1
    width = high - low
    steps = len(BLOCKS)
    drawn = [
        GAP
        if figure is None
        else BLOCKS[min(steps - 1, int(steps * (figure - low) / width))]
        if width
        else BLOCKS[steps // 2 - 1]
        for figure in figures
    ]
    return "".join(drawn), (low, high)


def nights_table(history: History, series: Series) -> Table:
    """Makes a table of one row a night, the oldest first. Columns that no night has anything for are left out."""
    from rich import box

    nights, ends = series.nights, strip_ends(series)
    columns: dict[str, tuple[Mapping[str, Any], Iterable[str]]] = {
        "night": ({"min_width": 10, "no_wrap": True}, night_names([night.started_at for night in nights], DATED)),
        "run": ({"min_width": RUN, "no_wrap": True}, (night.audit_run_id[:RUN] for night in nights)),
        "figure": (FIGURES, (printed(history.measure, night.figure) for night in nights)),
    }
    if any(night.low is not None or night.high is not None for night in nights):
        columns["95 % interval"] = (FIGURES, map(bounds, nights))
    columns["samples\n× variants\n× asks"] = ({"justify": "right", "overflow": "fold"}, map(size, nights))
    columns["comparable"] = ({"max_width": 34, "overflow": "fold"}, map(compares, nights))
    if ends:
        columns["against normal nights"] = ({"no_wrap": True}, (strip(night, *ends) for night in nights))
    if any(night.verdict for night in nights):
        columns["verdict"] = (FOLDED, map(verdict, nights))
    if any(night.marks for night in nights):
        columns["marks"] = (FOLDED, (cut(", ".join(night.marks), NAME) for night in nights))
    headings = [(heading, options) for heading, (options, _) in columns.items()]
    rows = zip(*(cells for _, cells in columns.values()), strict=True)
    return drawn(headings, rows, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)


def strip_ends(series: Series) -> tuple[float, float] | None:
    """Finds the least and the largest of a series' figures and bands. None without a band, or where all are equal."""
    bands = [end for night in series.nights for end in (night.normal_low, night.normal_high) if end is not None]
    known = bands + [night.figure for night in series.nights if night.figure is not None]
    return (min(known), max(known)) if bands and min(known) < max(known) else None


def strip(night: Night, low: float, high: float) -> str:
    """Draws a night as characters from `low` to `high`: the normal band, and the figure in it or beside it."""

    def place(value: float) -> int:
        return round((STRIP - 1) * (value - low) / (high - low))

    cells = [" "] * STRIP
    if night.normal_low is not None and night.normal_high is not None:
        first, last = place(night.normal_low), place(night.normal_high)
        cells[first : last + 1] = NORMAL * (last + 1 - first)
    if night.figure is not None:
        cells[place(night.figure)] = ALARMED if night.verdict in ALARMS else OWN
    return "".join(cells)


def size(night: Night) -> str:
    """Writes the counts behind a figure: `500 × 30 × 2`, or `499 of 500 × 29 of 30 × 2` where some have no answer."""
    if night.n_samples is None:
        return ABSENT
    samples = counted_of(night.n_samples, night.n_samples_planned)
    variants = (
        None
        if night.n_variants is None
        else counted_of(night.n_variants_answered or night.n_variants, night.n_variants)
    )
    asks = None if night.n_repetitions is None else count(night.n_repetitions)
    return " × ".join(filter(None, (samples, variants, asks)))


def compares(night: Night) -> str:
    """Says whether a figure compares with the last one before it: yes, no with the reason, or a dash."""
    return ABSENT if night.is_comparable is None else "yes" if night.is_comparable else f"no: {night.differs}"


def printed(measure: str, figure: float | None) -> str:
    """Prints a figure by its measure: amounts in USD, counts whole, the rest to three digits."""
    if measure.endswith("_usd"):
        return usd(figure)
    return count(figure) if isinstance(figure, int) else number(figure)


def verdict(night: Night) -> str:
    """Writes a night's verdict, a dash without one."""
    return cut(night.verdict or ABSENT, NAME).replace("_", " ")


def bounds(night: Night) -> str:
    """Prints the interval of a night's figure. Empty where it has none."""
    return interval(night.low, night.high)
