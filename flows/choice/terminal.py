"""Draws for a terminal which wordings to ship."""

from __future__ import annotations

from collections.abc import Iterable

from promptaudit.flows.choice.choose import Choice, Choices
from promptaudit.flows.display.figures import cut, number, percent, ranged
from promptaudit.flows.display.variant_names import numbered
from promptaudit.flows.warehouse import Row

HEADINGS = ("wording", "accuracy", "best", "loses", "worst variation", "agrees", "tokens", "")
WIDTHS = (9, 23, 8, 8, 24, 8, 8, 60)


def lines_of(choices: Choices, top: int) -> list[str]:
    """Returns the lines that a terminal shows, at most `top` wordings of each group and the original."""
    lines = [f"run {choices.audit_run_id} of '{cut(choices.audit_id)}'"]
    for choice in choices.choices:
        lines += ["", *_group(choice, top)]
    return lines


def _group(choice: Choice, top: int) -> Iterable[str]:
    names = ", ".join(cut(name, 60) for name in (choice.model_id, choice.task_id, choice.strategy))
    yield f"{names} (right by {choice.scoring_method}): {choice.says}"
    yield _row(HEADINGS)
    for place, row in enumerate(choice.wordings):
        if place < top or row["is_original"]:
            yield _row(_cells(row))


def _cells(row: Row) -> tuple[str, ...]:
    tokens = [row[name] for name in ("mean_prompt_tokens", "mean_completion_tokens")]
    worst = row["worst_variation"]
    return (
        "original" if row["is_original"] else numbered(row),
        ranged(row["accuracy"], row["accuracy_low"], row["accuracy_high"]),
        percent(row["chance_best"]),
        number(row["expected_loss"]),
        "" if worst is None else f"{number(row['accuracy_worst_variation'])} {worst.replace('_', ' ')}",
        "" if row["agreement"] is None else percent(row["agreement"]),
        "" if None in tokens else number(sum(tokens), 0),
        cut(row["instruction"] or "", WIDTHS[-1]),
    )


def _row(cells: Iterable[str]) -> str:
    return f"  {''.join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))}".rstrip()
