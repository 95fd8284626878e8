"""The section on the gate: the rules of the audit's card, held against the run whatever its age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.display.figures import cut
from flows.report.blocks.blocks import Block, Section, Table, limited

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult

MOST_FINDINGS = 8
LONGEST = 400  # characters of a rule, of what is found, of a command


def checked(found: GateResult | None) -> list[Section]:
    """Each rule with what became of it, the gravest first; nothing where the card has none."""
    from flows.gate.outcome import NAMED
    from flows.gate.terminal import figures_of, name_of, shown_rows

    if found is None or not found.rules:
        return []
    section = Section(
        "verdict",
        "Verdict of the gate",
        "The rules of the audit's card, each held against every row of this run that it is about. A rule without a figure is "
        "no pass. What was accepted and pinned since counts; the run's age does not.",
    )
    block = Block(task_id="")
    section.blocks.append(block)
    order = list(NAMED)  # the gravest first
    results = sorted(found.rules, key=lambda result: order.index(result.outcome))
    worse = [result for result in results if result.outcome in order[:2]]
    block.findings = [
        (NAMED[result.outcome].capitalize(), cut(result.rule, LONGEST)) for result in worse[:MOST_FINDINGS]
    ]
    lines = []
    for result in results:
        shown, n_more = shown_rows(result)
        said = [cut(result.reason, LONGEST), *(cut(f"{name_of(each)}: {figures_of(each)}", LONGEST) for each in shown)]
        said += [f"and {n_more} more"] if n_more else []
        closer = "; ".join(cut(command, LONGEST) for command in result.look_closer)
        lines.append((NAMED[result.outcome].capitalize(), cut(result.rule, LONGEST), "; ".join(said), closer))
    kept, note = limited(lines)
    block.tables.append(
        Table(
            caption="Rules of the gate",
            columns=("Outcome", "Rule", "Found", "Look closer"),
            rows=kept,
            n_heads=2,
            is_open=True,
            note=note,
        )
    )
    return [section]
