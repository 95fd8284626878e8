"""Defines what the templates print with: names and texts escaped and isolated, figures with their names and values.

A page's policy names each of its scripts by hash, so that no other can run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape as html_escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from promptaudit.report.blocks.blocks import Table
from promptaudit.report.blocks.cells import Cell, Printed, Traced, cells_of, exact, parts, rows_of
from promptaudit.system.display.figures import NAME, count, cut, interval, number, percent, shown, usd, when
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import row_id

if TYPE_CHECKING:
    from jinja2 import Environment


def rendered(template: str, **values: Any) -> str:
    """Fills in a template of the report."""
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> Environment:
    # all that templates print is escaped, and a missing value is an error
    import jinja2

    folder = jinja2.FileSystemLoader(Path(__file__).parents[1])
    strict = jinja2.StrictUndefined
    templates = jinja2.Environment(
        autoescape=True, undefined=strict, loader=folder, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters.update(FILTERS)
    return templates


def said(text: str) -> Markup:
    """Escapes a recorded text, makes invisible characters visible, and isolates its direction."""
    return Markup(_said(text))  # noqa: S704 - escaped there


def _said(text: str) -> str:
    safe = html_escape(shown(text))
    return safe if text.isascii() else f"<bdi>{safe}</bdi>"


def name(text: str | None) -> Markup:
    """Prints a name, cut; a dash for None."""
    return Markup("–") if text is None else said(cut(text, NAME))


def printed(cell: Printed) -> Markup:
    """Prints one cell: texts escaped, figures with their names and values at full precision."""
    return Markup(_printed(cell))  # noqa: S704 - escaped there


def _printed(cell: Printed, *, is_named: bool = False) -> str:
    return "".join(_figure(part, is_named=is_named) for part in parts(cell))


def _figure(part: str | Cell, *, is_named: bool) -> str:
    if isinstance(part, str):
        return _said(part)
    value, text, name = html_escape(part.exact), html_escape(part.text), html_escape(part.figure)
    figure = f'<data value="{value}" data-figure="{name}">{text}</data>'
    figure = f"<strong>{figure}</strong>" if part.is_strong else figure
    return f'<span title="{name}">{figure}</span>' if is_named else figure


def lines(table: Table, trace: Callable[[str], Markup], most: int) -> Markup:
    """Prints the first `most` rows of a table. If it has figures with names, a last cell names the marts' rows."""
    n_text = len(table.columns) - table.n_figures
    opened = [
        '<th scope="row">' if place < table.n_heads else "<td>" if place < n_text else '<td class="n">'
        for place in range(len(table.columns))
    ]
    closed = ["</th>" if place < table.n_heads else "</td>" for place in range(len(table.columns))]
    with_names = is_traced(table)
    out = []
    for row in table.rows[:most]:
        cells = [
            start + _printed(cell, is_named=not table.has_traces) + end
            for start, cell, end in zip(opened, row, closed, strict=False)
        ]
        if with_names:
            cells.append(f'<td class="traces">{"".join(map(trace, rows_of(row)))}</td>')
        out.append(f"<tr>{''.join(cells)}</tr>\n")
    return Markup("".join(out))  # noqa: S704 - escaped cell by cell


def trace_links(audit_run_id: str, traces: frozenset[str]) -> Callable[[str], Markup]:
    """Makes a printer of row names, linked to `traces/<run>/<row>.html` for rows that have such a page."""
    folder = f"traces/{quote(audit_run_id, safe='')}"

    def trace(row: str) -> Markup:
        code = f'<code class="trace">{html_escape(row)}</code>'
        link = f'<a href="{html_escape(f"{folder}/{quote(row)}.html")}">{code}</a>' if row in traces else code
        return Markup(link)  # noqa: S704 - escaped above

    return trace


def width(share: float) -> str:
    """Writes a share as a CSS width in per cent, at most 100 and at least 0."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


def range_bar(value: float | None, low: float | None, high: float | None) -> Markup:
    """Draws a figure and its interval as a mark on a line from 0 to 1; empty without a figure."""
    if value is None:
        return Markup("")
    span = ""
    if low is not None and high is not None:
        start, end = min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
        span = f'<i style="left:{width(start)};width:{width(end - start)}"></i>'
    return Markup(f'<span class="range" aria-hidden="true">{span}<b style="left:{width(value)}"></b></span>')  # noqa: S704 - numbers


def traced(row: Row, mart: str) -> Traced:
    """Wraps a mart's row so that its columns are printed with their names."""
    return Traced(mart, row)


def is_traced(table: Table) -> bool:
    """Checks whether a table names the rows that its figures are from."""
    return table.has_traces and any(map(cells_of, table.rows))


def said_plainly(text: str) -> str:
    """Cuts a name for an attribute, in which no element can isolate it."""
    return cut(text, NAME)


def row_name(row: Mapping[str, Any], mart: str) -> str:
    """Names a mart's row."""
    return row_id(mart, row)


# in JSON only strings hold these; escaped, no data can end a script element or open a comment in it
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Script:
    """A script to stand inline, and its source as a policy names it."""

    text: Markup
    source: str


@functools.cache
def inline(path: Path) -> Script:
    """Reads a script of ours for use inside a page. Raises ValueError if it would end early there."""
    text = path.read_text(encoding="utf-8")
    if any(end in text.lower() for end in ("</script", "<!--")) or {"\r", "\0"} & set(text):
        msg = "the script would end early inside a page"
        raise ValueError(msg)
    text = f"{text.strip()}\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own code


def as_json(data: object) -> Markup:
    """Writes data as JSON for a script element. Raises ValueError for NaN and infinities, which JSON cannot express."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode()
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - escaped above


FILTERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        *(said, name, number, interval, percent, usd, count, when, range_bar, width, printed, traced, row_name),
        *(rows_of, exact, is_traced, lines, said_plainly),
    )
}
