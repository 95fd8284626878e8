"""What a section of the report is made of: tables, panels and sentences, each about one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from flows.display.figures import NAME, cut
from flows.report.blocks.cells import Printed
from flows.warehouse import Row

Group = tuple[str, str]  # model, strategy

MOST_PANELS = 12  # a task and section
MOST_CHARTS = 120  # the report: about a tenth of a second each
N_DRAWN = 6  # sections with charts
MOST_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of printed cells; the first `n_heads` of each name the row, the last `n_figures` are aligned as figures.

    A cell is text, a figure with its name, or several of them in a row (`cells.py`).
    """

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Printed, ...]]
    n_heads: int = 1
    n_figures: int = 0
    is_open: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: what or whom it is about, in which respect, and a detail."""

    name: str
    beside: str
    detail: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed figure with what stands below it: its interval, its standard deviation, why it is missing."""

    value: Printed
    below: Printed = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One model's rule against one judge: printed figures, what vouches for the judge, and what they say."""

    model_id: str
    rule: str
    judge: str
    figures: tuple[Figure, ...]
    is_verified: bool
    vouching: tuple[Printed, ...]
    sentence: str
    row: str  # the name of the mart's row


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer that scoring methods see differently: (method, ruling, reason) of each; texts are cut."""

    sample_id: str
    rulings: tuple[tuple[str, str, str], ...]
    said: str
    lines: list[str] | None  # of the question; None: not recorded
    right_answers: tuple[str, ...]
    completion: str
    glimpse: str  # of the completion


@dataclass(slots=True, kw_only=True)
class Block:
    """A task's part of a section; `absent` says in a sentence why something is not there."""

    task_id: str
    absent: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)  # what is found, of whom
    comparisons: list[Comparison] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    legend: tuple[tuple[str, str], ...] = ()  # colour, meaning
    panels: list[Panel] = field(default_factory=list)
    notes: list[Printed] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """A heading of the report with its blocks."""

    anchor: str
    title: str
    intro: str
    blocks: list[Block] = field(default_factory=list)

    def of_tasks(self, scorecard: Sequence[Row]) -> Iterator[tuple[str, Block, list[Row]]]:
        """Each task of the run with a block of this section, and with its rows of the scorecard."""
        for task_id, rows in by_task(scorecard).items():
            self.blocks.append(Block(task_id=task_id))
            yield task_id, self.blocks[-1], rows


class Budget:
    """How many charts a task gets in a section: beyond it the tables stand alone, and the block says so."""

    def __init__(self, n_tasks: int) -> None:
        self.most = max(1, min(MOST_PANELS, MOST_CHARTS // (N_DRAWN * max(1, n_tasks))))

    def draw(
        self,
        block: Block,
        groups: dict[Group, list[Row]],
        panel: Callable[[str, Group, list[Row]], tuple[str, Markup]],
        n_sharing: int = 1,
    ) -> None:
        """Adds a panel for each model and strategy as far as it goes, and says how many were left out.

        `n_sharing` calls share what one task gets in a section. `panel` gets who it is about, in words for its label, the
        pair and its rows; it gives a detail and a drawing.
        """
        wanted = list(groups)
        drawn = wanted[: max(1, self.most // n_sharing)]
        for group in drawn:
            who = ", ".join(cut(name, NAME) for name in (*group, block.task_id)) + ": "
            detail, drawing = panel(who, group, groups[group])
            block.panels.append(Panel(group[0], group[1], detail, drawing))
        note = f"{len(drawn)} of {len(wanted)} model and strategy pairs are drawn here; the figures below hold all of them."
        if len(drawn) < len(wanted) and note not in block.notes:
            block.notes.append(note)


def by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by task, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(row)
    return found


def by_group(rows: Sequence[Row]) -> dict[Group, list[Row]]:
    """Rows by model and strategy, in their order; rows without a model (PSS between models) are left aside."""
    found: dict[Group, list[Row]] = {}
    for row in rows:
        if row["model_id"] is not None:
            found.setdefault((row["model_id"], row["strategy"]), []).append(row)
    return found


def limited(rows: Sequence[tuple[Printed, ...]], most: int = MOST_ROWS) -> tuple[Sequence[tuple[Printed, ...]], str]:
    """The first rows, and a sentence about the rest."""
    note = "" if len(rows) <= most else f"The first {most} of {len(rows):,} rows; `promptaudit sql` has the rest."
    return rows[:most], note
