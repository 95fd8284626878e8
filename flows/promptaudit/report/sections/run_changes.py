"""The section on what changed: this run against the runs that it was compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptaudit.marts.comparison.result import NEWS, VERDICTS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import table
from promptaudit.report.sections.compared import DETECTABLE, MART, NAMES, Q, figures, gravest_first
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.report.summary_causes import base_of, last_comparable
from promptaudit.report.summary_worst import mart_of
from promptaudit.system.display.compared import Compared
from promptaudit.system.display.figures import NAME, cut, in_unit
from promptaudit.system.display.movement import why
from promptaudit.warehouse import Row

MOST_FINDINGS = 8  # a base
MOST_TOGETHER = 4  # a finding; all of them stand in the table


_COLUMNS = (*NAMES, *figures("This run"), Q)


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    rows = data.changes
    if not rows:
        return
    told = last_comparable(rows)  # as what changed, at the page's beginning
    for own in by_base(rows):
        block = section.add(base_of(own[0]))
        news = gravest_first([row for row in own if row["verdict"] in NEWS])
        block.findings = [] if own == told else _findings(news)
        if not news:
            block.absent.append("No measure regressed, changed or improved.")
        block.notes.append(f"{counts_of(own)}.")
        if block.findings and len({why(Compared.of(row)) for row in news}) > MOST_FINDINGS:
            block.notes.append(f"The first {MOST_FINDINGS} reasons are told; the table has every measure.")
        mart = mart_of(own[0])
        columns = (*_COLUMNS, DETECTABLE) if mart == MART else _COLUMNS
        block.tables.append(table("Measures compared", columns, news or own, mart, n_heads=5))


def by_base(rows: list[Row]) -> list[list[Row]]:
    """Returns the rows of each comparison, in their order."""
    return list(by(rows, "comparison_id").values())


def counts_of(rows: Sequence[Row]) -> str:
    """Returns how many measures came out how, the gravest first."""
    n = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{n[verdict]} {verdict.replace('_', ' ')}" for verdict in VERDICTS if n[verdict])


def _findings(news: list[Row]) -> list[tuple[str, str]]:
    """Returns what is new, with why: what has one reason is told together, the gravest first."""
    by_reason: dict[str, list[Row]] = {}
    for row in news:
        by_reason.setdefault(why(Compared.of(row)) or "no reason is recorded", []).append(row)
    findings = []
    for reason, rows in list(by_reason.items())[:MOST_FINDINGS]:
        more = f"; and {len(rows) - MOST_TOGETHER} more" if len(rows) > MOST_TOGETHER else ""
        findings.append(("; ".join(map(_phrase, rows[:MOST_TOGETHER])) + more, cut(reason)))
    return findings


def _phrase(row: Row) -> str:
    who = " / ".join(cut(row[name], NAME) for name in ("model_id", "task_id", "strategy"))
    before, now = (in_unit(row[name], compared_unit(row["measure"])) for name in ("base", "candidate"))
    return f"{row['measure']} {row['verdict']}, {who}, {before} → {now}"


def _finding(data: ReportData) -> str:
    own = by_base(data.changes)[0]
    return f"Against {base_of(own[0])}: {counts_of(own)}"


run_changes = Section(
    name="run_changes",
    title="What changed",
    intro=(
        "This run is compared with normal nights and with pinned runs, on the samples that both have. Regressed "
        "and improved figures differ beyond chance and by more than the audit's smallest effect, and are told "
        "until the figure is back. Changed means that the same questions are answered otherwise than asking twice "
        "explains. q says how often chance alone would show as much in any of the figures."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
