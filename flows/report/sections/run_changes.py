"""The section on what changed: this run against the runs that it was compared with."""

from __future__ import annotations

from collections import Counter

from flows.comparison.result import NEWS, VERDICTS
from flows.display.figures import NAME, cut, number, when
from flows.report.blocks.blocks import Block, Section, Table, by_task, limited
from flows.report.blocks.cells import Printed, Traced
from flows.warehouse import Row

MOST_FINDINGS = 8  # a base
MOST_TOGETHER = 4  # a finding; all of them stand in the table


def changes(rows: list[Row]) -> list[Section]:
    """What is more than chance and more than the audit's smallest effect; nothing where this run was compared with none."""
    if not rows:
        return []
    section = Section(
        "changes",
        "What changed",
        "This run against earlier ones, on the samples, wordings and asks that both have. Regressed and improved are beyond "
        "chance and more than the audit's smallest effect; changed: the same questions are answered otherwise than asking "
        "twice explains.",
    )
    for own in by_base(rows):
        block = Block(task_id=base_of(own[0]))
        section.blocks.append(block)
        news = sorted((row for row in own if row["verdict"] in NEWS), key=lambda row: VERDICTS.index(row["verdict"]))
        block.findings = _findings(news)
        if not news:
            block.absent.append("No measure regressed, changed or improved.")
        block.notes.append(f"{counts_of(own)}.")
        if len({row["reason"] for row in news}) > MOST_FINDINGS:
            block.notes.append(f"The first {MOST_FINDINGS} reasons are told; the table has every measure.")
        block.tables.append(_table(news or own))
    return [section]


def by_base(rows: list[Row]) -> list[list[Row]]:
    """The rows of each comparison, in their order."""
    return list(by_task([{**row, "task_id": row["comparison_id"], "task": row["task_id"]} for row in rows]).values())


def base_of(row: Row) -> str:
    """With what a comparison compares, in words."""
    run = f"run {row['base_run_id'][:12]} of {when(row['base_started_at'])}"
    return run if row["baseline"] is None else f"baseline {cut(row['baseline'], 60)}, {run}"


def counts_of(rows: list[Row]) -> str:
    """How many measures came out how, the gravest first."""
    found = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{found[verdict]} {verdict.replace('_', ' ')}" for verdict in VERDICTS if found[verdict])


def _findings(news: list[Row]) -> list[tuple[str, str]]:
    """What is new, with why: what has one reason is told together, the gravest first."""
    by_reason: dict[str, list[Row]] = {}
    for row in news:
        by_reason.setdefault(row["reason"] or "no reason is recorded", []).append(row)
    found = []
    for reason, rows in list(by_reason.items())[:MOST_FINDINGS]:
        more = f"; and {len(rows) - MOST_TOGETHER} more" if len(rows) > MOST_TOGETHER else ""
        found.append(("; ".join(map(_phrase, rows[:MOST_TOGETHER])) + more, cut(reason)))
    return found


def _phrase(row: Row) -> str:
    who = " / ".join(cut(row[name], NAME) for name in ("model_id", "task", "strategy"))
    return f"{row['measure']} {row['verdict']}, {who}, {number(row['base'])} → {number(row['candidate'])}"


def _table(rows: list[Row]) -> Table:
    lines: list[tuple[Printed, ...]] = []
    for row in rows:
        of = Traced("rpt_run_comparisons", {**row, "task_id": row["task"]})
        lines.append(
            (row["verdict"].replace("_", " "), row["model_id"], row["task"], row["strategy"], row["measure"],
             of.number("base"), of.number("candidate"), of.number("difference"), of.bounds("difference"),
             of.number("q_value", 4), of.number("detectable_difference"))
        )  # fmt: skip
    kept, note = limited(lines)
    columns = (
        "Verdict", "Model", "Task", "Strategy", "Measure", "Base", "This run", "Difference", "95 % interval", "q", "Could see",
    )  # fmt: skip
    return Table(caption="Measures compared", columns=columns, rows=kept, n_heads=5, n_figures=6, note=note)
