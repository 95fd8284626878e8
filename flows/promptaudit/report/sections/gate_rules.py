"""The section on the gate: the rules of the audit's card, held against the run whatever its age."""

from __future__ import annotations

from collections.abc import Iterable

from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import table, words
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import cut

LONGEST = 400  # characters of a rule, of what is found, of a command


_COLUMNS = (
    words("Outcome", "outcome"),
    words("Rule", "rule"),
    words("Found", "found"),
    words("Look closer", "look_closer"),
)


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    from promptaudit.gate.outcome import NAMED
    from promptaudit.gate.terminal import figures_of, name_of, shown_rows

    outcome = data.gate
    if outcome is None or not outcome.rules:
        return
    block = section.add()
    order = list(NAMED)  # the gravest first
    results = sorted(outcome.rules, key=lambda result: order.index(result.outcome))
    lines = []
    for result in results:
        shown, n_more = shown_rows(result)
        reasons = [result.reason, *(f"{name_of(each)}: {figures_of(each)}" for each in shown)]
        lines.append(
            {
                "outcome": NAMED[result.outcome].capitalize(),
                "rule": cut(result.rule, LONGEST),
                "found": "; ".join([*_cut(reasons), *([f"and {n_more} more"] if n_more else [])]),
                "look_closer": "; ".join(_cut(result.look_closer)),
            }
        )
    block.tables.append(table("Rules of the gate", _COLUMNS, lines, is_open=True))


def _cut(texts: Iterable[str]) -> list[str]:
    return [cut(text, LONGEST) for text in texts]


def _finding(data: ReportData) -> str:
    return data.summary.outcome.reason.rstrip(".")


gate_rules = Section(
    name="gate_rules",
    title="Verdict of the gate",
    intro=(
        "Each rule of the audit's card is held against every row of this run that it is about. A rule without a "
        "figure does not pass. What people accepted or pinned since then counts; the run's age does not."
    ),
    fill=_fill,
    finding=_finding,
    is_optional=True,
)
