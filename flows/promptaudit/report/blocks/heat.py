"""A picture of figures: a table whose cells are painted in shades."""

from __future__ import annotations

from dataclasses import dataclass

from promptaudit.report.blocks.cells import Printed


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One figure in its shade, which report.css paints, with what stands below it: its interval, what it was before."""

    shade: str
    figure: Printed
    below: tuple[Printed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatLine:
    """One line, a cell a column; None: no figure. `heading` is of this line and those after it up to the next one."""

    name: str
    cells: tuple[HeatCell | None, ...]
    heading: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The picture; `absent` says why there is none. A column is a name with what stands below it, a legend shades with meanings.

    `of_each` and `beside` say for whom the figures stand and what is in a cell beside its figure; `notes` what is not in it.
    """

    label: str = ""
    of_each: str = "model, task and strategy"
    beside: str = ""
    corner: str = "Task"
    columns: tuple[tuple[str, str], ...] = ()
    lines: tuple[HeatLine, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = ""
