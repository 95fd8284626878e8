"""Defines what a section of the report consists of: tables, panels and sentences, each about one task."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from promptaudit.report.blocks.cells import Printed
from promptaudit.warehouse import Row

Pair = tuple[str, str]  # model, strategy
Group = tuple[str, str, str]  # model, task, strategy

MOST_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of printed cells.

    The first `n_heads` cells name the row, the last `n_figures` are aligned as figures.

    A cell is text, a figure with its name, or several of them in a row (`cells.py`).
    """

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Printed, ...]]
    n_heads: int = 1
    n_figures: int = 0
    is_open: bool = False
    note: str = ""
    has_traces: bool = True  # whether a last column names the rows behind a line; without it each figure says its name
    file: str = ""  # the name under which `report --charts` writes it too; empty: it does not
    n_in_all: int = 0  # number of all rows, if `rows` are the first of them

    def rest(self, most: int) -> str:
        """Says how many rows are printed if that is the first `most` of more. Empty if all are printed."""
        n_shown, n_all = min(len(self.rows), most), max(len(self.rows), self.n_in_all)
        return "" if n_shown == n_all else f"The first {n_shown} of {n_all:,} rows; `promptaudit sql` has the rest."


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart. `name` and `beside` say what or whom it is about and in which respect."""

    name: str
    beside: str
    detail: str
    drawing: Markup


@dataclass(slots=True, kw_only=True)
class Block:
    """A task's part of a section, or one of the whole run.

    `absent` says in a sentence why something is missing, also for the tasks in `others`.
    """

    task_id: str
    heading: str = ""  # of a part of the whole run
    figure: str = ""  # the figure its panels belong to when written as files; empty: the section's own
    others: tuple[str, ...] = ()
    absent: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)  # what is found, of whom
    comparisons: list[Row] = field(default_factory=list)  # of a model under a rule and a judge
    disagreements: list[Row] = field(default_factory=list)  # answers that scoring methods rule differently
    legend: tuple[tuple[str, str], ...] = ()  # colour, meaning
    panels: list[Panel] = field(default_factory=list)
    notes: list[Printed] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)  # to a page beside the report, in words
    tables: list[Table] = field(default_factory=list)

    @property
    def is_absent(self) -> bool:
        """True if the block says why something is missing, and nothing else."""
        there = (self.findings, self.comparisons, self.disagreements, self.panels, self.notes, self.links, self.tables)
        return bool(self.absent) and not any(there)


@dataclass(slots=True)
class DrawnSection:
    """A section of one run's page. `finding` sums up its blocks in a sentence and stands as its heading."""

    anchor: str
    title: str
    intro: str
    blocks: list[Block] = field(default_factory=list)
    finding: str = ""

    @property
    def shown(self) -> list[Block]:
        """Lists the blocks. Blocks in which everything is missing for the same reasons are merged into one."""
        united: dict[tuple[str, ...], list[Block]] = {}
        for block in self.blocks:
            if block.is_absent:
                united.setdefault(tuple(block.absent), []).append(block)
        firsts = {
            id(first): dataclasses.replace(first, others=tuple(block.task_id for block in rest))
            for first, *rest in united.values()
        }
        return [firsts.get(id(block), block) for block in self.blocks if id(block) in firsts or not block.is_absent]

    def add(self, task_id: str = "", heading: str = "", *, figure: str = "") -> Block:
        """Adds the block of a task, or one of the whole run."""
        self.blocks.append(Block(task_id=task_id, heading=heading, figure=figure))
        return self.blocks[-1]


def by(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    """Groups rows by a column and keeps their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def by_pair(rows: Sequence[Row]) -> dict[Pair, list[Row]]:
    """Groups rows by model and strategy and keeps their order. Skips rows without a model (PSS between models)."""
    return by_columns([row for row in rows if row["model_id"] is not None], "model_id", "strategy")


def by_columns(rows: Sequence[Row], *columns: str) -> dict[Any, list[Row]]:
    """Groups rows by several columns and keeps their order."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def group_of(row: Row) -> Group:
    """Takes the model, task and strategy of a row."""
    return row["model_id"], row["task_id"], row["strategy"]


def keyed(rows: Sequence[Row], *columns: str) -> dict[tuple[Any, ...], Row]:
    """Maps each combination of the columns' values to its last row."""
    return {tuple(row[column] for column in columns): row for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One figure in its shade (painted by report.css), with what stands below it: its interval, its earlier value."""

    shade: str
    figure: Printed
    below: tuple[Printed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatLine:
    """One line with a cell per column; None: no figure. `heading` applies up to the next line that has one."""

    name: str
    cells: tuple[HeatCell | None, ...]
    heading: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A table of shaded figures; `absent` says why there is none.

    A column has a name and a text below it.

    `legend` gives the meaning of each shade. `of_each` says what each figure is of, `beside` what else a cell holds,
    and `notes` what the table leaves out.
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
