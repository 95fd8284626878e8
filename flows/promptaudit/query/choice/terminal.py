"""Writes the lines that a terminal shows about which wordings to ship."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from promptaudit.query.choice.choose import Choice, Choices, Wording
from promptaudit.system.display.figures import cut, number, percent, ranged
from promptaudit.system.display.variant_names import numbered

HEADINGS = ("wording", "accuracy", "best", "loses", "worst variation", "agrees", "tokens", "")
WIDTHS = (9, 23, 8, 8, 24, 8, 8, 60)


def lines_of(choices: Choices, top: int) -> list[str]:
    """Writes the lines for a terminal, at most `top` wordings of each group and the original."""
    lines = [f"run {choices.audit_run_id} of '{cut(choices.audit_id)}'"]
    for choice in choices.choices:
        lines += ["", *_group(choice, top)]
    return lines


def _group(choice: Choice, top: int) -> Iterable[str]:
    names = ", ".join(cut(name, 60) for name in (choice.model_id, choice.task_id, choice.strategy))
    yield f"{names} (right by {choice.scoring_method}): {choice.says}"
    if choice.majority is not None:
        yield f"  {choice.majority}"
    yield _row(HEADINGS)
    for place, wording in enumerate(choice.wordings):
        if place < top or wording.is_original:
            yield _row(_cells(wording))


def _cells(wording: Wording) -> tuple[str, ...]:
    tokens_in, tokens_out = wording.mean_prompt_tokens, wording.mean_completion_tokens
    worst = wording.worst_variation
    return (
        "original" if wording.is_original else numbered(asdict(wording)),
        ranged(wording.accuracy, wording.accuracy_low, wording.accuracy_high),
        percent(wording.chance_best),
        number(wording.expected_loss),
        "" if worst is None else f"{number(wording.accuracy_worst_variation)} {worst.replace('_', ' ')}",
        "" if wording.agreement is None else percent(wording.agreement),
        "" if tokens_in is None or tokens_out is None else number(tokens_in + tokens_out, 0),
        cut(wording.instruction or "", WIDTHS[-1]),
    )


def _row(cells: Iterable[str]) -> str:
    return f"  {''.join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))}".rstrip()
