"""Draws the panels of one block again as a single figure, as wide as the text of a page, for whoever wants them as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import starmap
from typing import Any, NamedTuple

from flows.display.figures import NAME, cut
from flows.report.blocks.blocks import Block
from flows.report.charts.drawing import WIDTH, Drawing
from flows.report.charts.layers import Spec
from flows.report.charts.plot import PADDING, plotted
from flows.report.charts.scales import FONT_SIZE, fitted
from flows.warehouse import Row

N_COLUMNS = 3
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
    """Returns a chart as it stands on the page."""
    label, height, inner = _opened(str(drawing))
    told = max(_datasets(drawing).values(), key=lambda told: len(told["rows"]))
    return Picture(inner, label, WIDTH, height, told["names"], told["rows"])


def joined(block: Block) -> Picture:
    """Returns the panels of a block side by side, in the order of the page; the first column of the data says which one."""
    drawings = [(panel.name, panel.drawing) for panel in block.panels if isinstance(panel.drawing, Drawing)]
    n_columns = min(N_COLUMNS, len(drawings))
    n_lines = -(-len(drawings) // n_columns)
    pieces = (_panel(place, n_columns, *each) for place, each in enumerate(drawings))
    pictures = list(starmap(_named, drawings))
    names = list(dict.fromkeys(name for names, _ in pictures for name in names))
    rows = [[row.get(name) for name in names] for _, own in pictures for row in own]
    width, height = PANEL_WIDTH * n_columns, (TITLE + PANEL_HEIGHT) * n_lines
    return Picture("".join(pieces), escape(cut(block.heading)), width, height, names, rows)


def _panel(place: int, n_columns: int, name: str, drawing: Drawing) -> str:
    line, column = divmod(place, n_columns)
    layers = [layer for layer in drawing.spec["spec"]["layer"] if layer["mark"].get("opacity") != 0]  # tooltips alone
    data = {name: list(_rows(told)) for name, told in _datasets(drawing).items()}
    spec: Spec = {"layer": layers, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}
    _, _, inner = _opened(str(plotted(spec, data, name)))
    title = escape(fitted(cut(name, NAME), PANEL_WIDTH - 2 * PADDING), quote=False)
    return (
        f'<g transform="translate({column * PANEL_WIDTH} {line * (TITLE + PANEL_HEIGHT)})">'
        f'<text x="{PADDING}" y="{FONT_SIZE + 2}" font-weight="bold">{title}</text>'
        f'<g transform="translate(0 {TITLE})">{inner}</g></g>'
    )


def _named(name: str, drawing: Drawing) -> tuple[list[str], list[Row]]:
    """The columns of a panel's data and its rows, with the panel's name in front."""
    told = max(_datasets(drawing).values(), key=lambda told: len(told["rows"]))
    return ["panel", *told["names"]], [{"panel": name, **row} for row in _rows(told)]


def _datasets(drawing: Drawing) -> Mapping[str, Mapping[str, Any]]:
    datasets: Mapping[str, Mapping[str, Any]] = drawing.spec["spec"]["datasets"]
    return datasets


def _rows(told: Mapping[str, Any]) -> Iterator[Row]:
    names: Sequence[str] = told["names"]
    return (dict(zip(names, row, strict=True)) for row in told["rows"])


def _opened(svg: str) -> tuple[str, int, str]:
    """The label of a drawing, escaped, its height, and what stands within it."""
    opening, inner = svg.removesuffix("</svg>").split(">", 1)
    return _attribute(opening, "aria-label"), int(_attribute(opening, "height")), inner


def _attribute(opening: str, name: str) -> str:
    return opening.partition(f' {name}="')[2].partition('"')[0]
