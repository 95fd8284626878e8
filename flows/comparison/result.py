"""Two runs held against each other, for a terminal and as data: what differs by more than chance, why, which samples flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from flows.display.figures import cut, interval, number, when
from flows.warehouse import Row, Warehouse

VERDICTS = ("regressed", "changed", "improved", "not_comparable", "not_judged", "within_noise")  # the gravest first
NEWS = ("regressed", "changed", "improved")
MOST_FLIPS = 8  # named, of a kind
NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The rows of one comparison in the published marts."""

    comparison_id: str
    rows: Sequence[Row]
    changes: Sequence[Row]
    flips: Sequence[Row]
    runs: Sequence[Row]

    @property
    def counts(self) -> dict[str, int]:
        """How many measures came out how, the gravest first."""
        found = Counter(row["verdict"] for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    @property
    def headline(self) -> str:
        """One line: how many measures came out how."""
        said = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in self.counts.items())
        n_tests = sum(row["p_value"] is not None for row in self.rows)
        return f"{said or 'nothing to compare'} ({n_tests} tests, adjusted for their number)"

    def as_dict(self) -> dict[str, object]:
        """For --json, at full precision."""
        return {
            "comparison_id": self.comparison_id,
            "runs": self.runs,
            "verdicts": self.counts,
            "measures": self.rows,
            "changes": self.changes,
            "flips": self.flips,
        }

    def lines(self) -> list[str]:
        """What stands around the table, for people."""
        first = self.rows[0] if self.rows else {}
        is_of_models = first.get("base_model_id") not in (None, first.get("model_id"))
        sides = zip(("base", "candidate"), self.runs, ("base_model_id", "model_id"), strict=bool(self.runs))
        out = [
            f"{name:<10} {run['audit_run_id']}  {cut(run['audit_id'], NAME)}, {when(run['started_at'])}"
            + (f", {cut(first[model], NAME)}" if is_of_models else "")
            for name, run, model in sides
        ]
        return [*out, self.headline]

    def closing(self) -> list[str]:
        """Why, and which samples flipped, for people."""
        reasons = Counter(row["reason"] for row in self.rows if row["verdict"] not in ("not_comparable", "not_judged"))
        out = [f"why        {cut(reason, 400)}" for reason, _ in reasons.most_common(5)]
        apart = Counter(row["reason"] for row in self.rows if row["verdict"] == "not_comparable")
        out += [f"apart      {n} not comparable: {cut(reason, 200)}" for reason, n in apart.most_common(5)]
        for flip, found in _by_flip(self.flips).items():
            named = ", ".join(cut(sample, NAME) for sample in found[:MOST_FLIPS])
            more = f" and {len(found) - MOST_FLIPS} more" if len(found) > MOST_FLIPS else ""
            out.append(f"flips      {len(found)} {flip.replace('_', ' ')}: {named}{more}")
        return out

    def table(self, *, all_rows: bool) -> Table | None:
        """The measures that differ, or all of them; None without any."""
        rows = [row for row in self.rows if all_rows or row["verdict"] in NEWS]
        if not rows:
            return None
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("verdict", "model / task / strategy", "measure"):
            table.add_column(heading, overflow="fold")
        for heading in ("base", "candidate", "difference", "q", "could see"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in sorted(rows, key=lambda row: VERDICTS.index(row["verdict"])):
            place = " / ".join(cut(row[name], NAME) for name in ("model_id", "task_id", "strategy"))
            moved = f"{_signed(row['difference'])} {interval(row['difference_low'], row['difference_high'])}".strip()
            cells = (
                row["verdict"].replace("_", " "), place, row["measure"], number(row["base"]), number(row["candidate"]),
                moved, number(row["q_value"], 4), number(row["detectable_difference"]),
            )  # fmt: skip
            table.add_row(*(Text(cell) for cell in cells))
        return table


def run_comparison(warehouse: Warehouse, comparison_id: str) -> RunComparison:
    """Everything that is published of a comparison."""
    rows = _of(warehouse, "rpt_run_comparisons", comparison_id, "task_id, strategy, model_id, measure")
    changes = _of(warehouse, "rpt_run_changes", comparison_id, "model_id, task_id, what")
    flips = _of(warehouse, "fct_flips", comparison_id, "flip, task_id, strategy, model_id, sample_id")
    runs = warehouse.published.read("select audit_run_id, audit_id, started_at from marts.dim_audit_runs")
    known = {run["audit_run_id"]: run for run in runs}
    sides = [known[rows[0][side]] for side in ("base_run_id", "candidate_run_id")] if rows else []
    return RunComparison(comparison_id=comparison_id, rows=rows, changes=changes, flips=flips, runs=sides)


def _of(warehouse: Warehouse, table: str, comparison_id: str, order: str) -> list[Row]:
    query = f"select * from marts.{table} where comparison_id = $comparison order by {order}"  # noqa: S608 - a mart of ours
    return warehouse.published.read(query, comparison=comparison_id)


def _by_flip(flips: Sequence[Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in flips:
        found.setdefault(row["flip"], []).append(row["sample_id"])
    return {flip: sorted(set(samples)) for flip, samples in found.items()}


def _signed(value: float | None) -> str:
    return number(value) if value is None or value < 0 else f"+{number(value)}"
