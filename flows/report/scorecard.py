"""The scorecard: a run's figures, one row per model, task and strategy, as plain rows and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.report.gather import Row, rows
from flows.report.queries import SCORECARD
from flows.report.text import NAME, count, cut, interval, number, percent, usd

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

# heading, width
COLUMNS = (
    ("samples\nvariants", 8), ("sensitivity\n(corrected)", 14), ("consist-\nency", 14), ("micro-F1\n± std", 8),
    ("PSS intra", 14), ("PSS inter", 14), ("wording\nshare", 7), ("invalid\nrate", 7), ("cost", 7),
)  # fmt: skip
NAME_WIDTH = 18  # at least; wide terminals give more
GAP = 1


def scorecard_rows(warehouse: Path, audit_run_id: str) -> list[dict[str, Any]]:
    """Rows of marts.rpt_audit of one run at full precision, by task, strategy and model; empty for an unknown run."""
    return rows(warehouse, SCORECARD, audit_run_id)


def scorecard(warehouse: Path, audit_run_id: str) -> RenderableType:
    """The scorecard as a rich renderable: one table from about 120 columns, several under each other below that."""
    return Scorecard(scorecard_rows(warehouse, audit_run_id))


def cells(row: Row) -> tuple[str, ...]:
    """A row's printed figures in the order of COLUMNS, the interval on a second line."""

    def with_interval(value: str, name: str) -> str:
        return f"{value}\n{interval(row[name + '_low'], row[name + '_high'])}".rstrip()

    sensitivity, corrected = number(row["sensitivity"]), number(row["sensitivity_corrected"])
    f1 = number(row["micro_f1"])
    return (
        f"{count(row['n_samples'])} ×\n{count(row['n_variants'])}",
        with_interval(f"{sensitivity} ({corrected})", "sensitivity_corrected")
        if corrected != sensitivity
        else sensitivity,
        with_interval(number(row["consistency"]), "consistency"),
        f1 if row["micro_f1_std"] is None else f"{f1}\n±{number(row['micro_f1_std'])}",
        with_interval(number(row["pss_intra"]), "pss_intra"),
        with_interval(number(row["pss_inter"]), "pss_inter"),
        number(row["wording_share"]),
        percent(row["invalid_rate"]),
        usd(row["cost_usd"]),
    )


class Scorecard:
    """Fits the width it is printed in: columns that do not fit go into a further table, none is dropped."""

    def __init__(self, found: list[Row]) -> None:
        self.rows = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """What rich prints."""
        if not self.rows:
            yield "no figures yet: nothing of this run has been measured"
            return
        for part in _parts(options.max_width):
            yield self._table(part)

    def _table(self, columns: list[int]) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
        table.add_column("model\ntask · strategy", overflow="fold", min_width=NAME_WIDTH, max_width=40)
        for index in columns:
            heading, width = COLUMNS[index]
            table.add_column(heading, justify="right", min_width=width, no_wrap=True)
        for row in self.rows:
            # Text, never markup: names are other people's
            name = Text(cut(row["model_id"], NAME), style="bold")
            name.append(f"\n{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}", style="not bold")
            printed = cells(row)
            table.add_row(name, *(Text(printed[index]) for index in columns))
        return table


def _parts(width: int) -> list[list[int]]:
    """The columns of each table, filled up to the width."""
    parts: list[list[int]] = [[]]
    used = NAME_WIDTH
    for index, (_, needed) in enumerate(COLUMNS):
        if parts[-1] and used + needed + GAP > width:
            parts.append([])
            used = NAME_WIDTH
        parts[-1].append(index)
        used += needed + GAP
    return parts
