"""Draws the panels of a section again as a single figure, as wide as the text of a page, for whoever wants them as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import starmap
from typing import Any, NamedTuple

from promptaudit.flows.display.figures import NAME, cut
from promptaudit.flows.report.charts.drawing import HEIGHT, WIDTH, Drawing
from promptaudit.flows.report.charts.plot import PADDING, plotted
from promptaudit.flows.report.charts.scales import FONT_SIZE, fitted
from promptaudit.flows.warehouse import Row

PANEL_WIDTH, PANEL_HEIGHT = 224, 150  # three are 7 inches wide, the text of a page
TITLE = FONT_SIZE + 6  # pixels above a panel


class Picture(NamedTuple):
    """What a file shows, without its legend: pieces of SVG, whom they are about, a size in pixels, and the rows of data."""

    inner: str
    label: str
    width: int
    height: int
    names: list[str]
    rows: list[list[Any]]


def single(drawing: Drawing) -> Picture:
    """Returns a chart as it stands on the page, without the titles of its marks."""
    label, height, _ = _opened(str(drawing))
    names = _names(drawing)
    rows = [[row.get(name) for name in names] for row in drawing.source.rows]
    return Picture(_inner(drawing, {"width": WIDTH, "height": height}), label, WIDTH, height, names, rows)


def joined(heading: str, drawings: Sequence[tuple[str, Drawing]]) -> Picture:
    """Returns named panels side by side, in their order; the first column of the data says which one.

    Three stand in a line; two, as large as on the page, where a chart is not of the usual height, as a matrix or many bars are.
    """
    heights = [_opened(str(drawing))[1] for _, drawing in drawings]
    is_usual = set(heights) == {HEIGHT}
    panel_width, most = (PANEL_WIDTH, 3) if is_usual else (WIDTH, 2)
    n_columns = min(most, len(drawings))
    pieces, top = [], 0
    for first in range(0, len(drawings), n_columns):
        height = PANEL_HEIGHT if is_usual else max(heights[first : first + n_columns])
        for column, (name, drawing) in enumerate(drawings[first : first + n_columns]):
            size = {"width": panel_width, "height": height if is_usual else heights[first + column]}
            pieces.append(_panel(column * panel_width, top, size, name, drawing))
        top += TITLE + height
    pictures = list(starmap(_named, drawings))
    names = list(dict.fromkeys(name for names, _ in pictures for name in names))
    rows = [[row.get(name) for name in names] for _, own in pictures for row in own]
    return Picture("".join(pieces), escape(cut(heading)), panel_width * n_columns, top, names, rows)


def _panel(left: int, top: int, size: Mapping[str, int], name: str, drawing: Drawing) -> str:
    title = escape(fitted(cut(name, 2 * NAME), size["width"] - 2 * PADDING), quote=False)
    return (
        f'<g transform="translate({left} {top})">'
        f'<text x="{PADDING}" y="{FONT_SIZE + 2}" font-weight="bold">{title}</text>'
        f'<g transform="translate(0 {TITLE})">{_inner(drawing, size)}</g></g>'
    )


def _inner(drawing: Drawing, size: Mapping[str, int]) -> str:
    """Returns the drawing in this size as pieces of SVG."""
    source = drawing.source
    return _opened(str(plotted({"layer": source.layers, **size}, source.datasets, "", {})))[2]


def _named(name: str, drawing: Drawing) -> tuple[list[str], list[Row]]:
    """Returns the columns of a panel's data and its rows, with the panel's name in front."""
    return ["panel", *_names(drawing)], [{"panel": name, **row} for row in drawing.source.rows]


def _names(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys(name for row in drawing.source.rows for name in row))


def _opened(svg: str) -> tuple[str, int, str]:
    """Returns the label of a drawing, escaped, its height, and what stands within it."""
    opening, inner = svg.removesuffix("</svg>").split(">", 1)
    return _attribute(opening, "aria-label"), int(_attribute(opening, "height")), inner


def _attribute(opening: str, name: str) -> str:
    return opening.partition(f' {name}="')[2].partition('"')[0]
