"""Writes a comparison as Markdown, for a comment on a pull request: the decision, what differs, answers that changed."""

from __future__ import annotations

from collections.abc import Iterator

from promptaudit.gate.outcome import RuleResult
from promptaudit.marts.comparison.decision import sentence_of
from promptaudit.marts.comparison.result import RunComparison
from promptaudit.marts.comparison.terminal import COLUMNS, cells, shown_figures
from promptaudit.report.comparison_page.gather import gather
from promptaudit.report.summary_example import NOTHING, Example
from promptaudit.system.display.figures import count
from promptaudit.system.display.markdown import cell, code, table
from promptaudit.system.display.policy import Policy
from promptaudit.warehouse import Warehouse

N_FIGURES = 5  # the last columns of a comparison
SIGNS = {True: "✅ ", False: "❌ ", None: ""}


def markdown(warehouse: Warehouse, comparison: RunComparison, approved: RuleResult | None, text: Policy | None) -> str:
    """Writes the decision as a heading, then a table of the measures that differ, and up to three answers that changed.

    `approved` is whether the candidate is no worse, if that was asked. Texts are left out if `text` or a card says so.
    """
    lines = [f"### {code(sentence_of(comparison))}", ""]
    if approved is not None:
        sign = SIGNS[{"passed": True, "failed": False}.get(approved.outcome)]
        lines += [f"{sign}{code(approved.rule)} {approved.outcome}: {code(approved.reason)}", ""]
    if figures := shown_figures(comparison):
        names = [heading for heading, _ in COLUMNS]
        lines += [*table(names, ([cell(each) for each in cells(figure)] for figure in figures), N_FIGURES), ""]
    if comparison.measures:
        for example in gather(warehouse, comparison, text).examples:
            lines += [*_example(example), ""]
    n_flips = len({(row["task_id"], row["sample_id"]) for row in comparison.flips})
    lines += [f"{count(n_flips)} samples flipped.", ""] if n_flips else []
    return "\n".join(lines)


def _example(example: Example) -> Iterator[str]:
    right = "" if example.gold_label is None else f", which is {code(example.gold_label)}"
    yield f"Sample {code(example.sample_id)}{right}:" + "".join(f" {code(line)}" for line in example.lines or ())
    yield ""
    rows = (
        (code(each.side), code(each.label or NOTHING), "" if each.completion is None else code(each.completion))
        for each in example.answers
    )
    yield from table(("", "label", "answer"), rows)
