"""Draws a trial for a terminal: what was tried, each measure before and after, and whether a difference is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptaudit.flows.display.figures import count, cut, number, ranged
from promptaudit.models_registry.mart_columns import mart_columns

if TYPE_CHECKING:
    from promptaudit.flows.trial.effects import ModelEffects
    from promptaudit.flows.trial.figures import Level
    from promptaudit.flows.trial.run import TrialResult

WIDTHS = (23, 24, 24, 24, 26)


def lines_of(trial: TrialResult) -> list[str]:
    """Returns the lines that a terminal shows."""
    beside = (
        "no control" if trial.filler is None else f"beside them unchanged, and with a filler: {cut(trial.filler, 60)}"
    )
    run = f"trial {trial.audit_run_id} of '{cut(trial.audit_id)}'"
    samples = f"task {cut(trial.task_id, 60)}, {count(len(trial.sample_ids))} samples"
    lines = [
        f"{run}, from run {trial.base_run_id}: {count(trial.n_asked)} cells asked",
        f"{samples}, {trial.n_variants} prompt variants a side, {beside}",
        f"tried: {cut(trial.added) if trial.added is not None else 'the task card as it is now'}",
        *(f"note: {cut(note)}" for note in trial.notes),
    ]
    for each in trial.effects:
        lines += ["", *_table(each, has_control=trial.filler is not None)]
    return lines


def _table(each: ModelEffects, *, has_control: bool) -> Iterable[str]:
    yield f"{cut(each.model_id, 60)}, {cut(each.strategy, 60)}: {each.n_samples} samples, {each.n_variants} variants"
    headings = (
        ("unchanged", "with filler", "tried", "tried - filler")
        if has_control
        else ("base run", "tried", "tried - base")
    )
    yield _row("", *headings, "")
    for effect in each.measures:
        arms = (effect.before, effect.filler, effect.after) if has_control else (effect.before, effect.after)
        cells = (_cell(level) for level in (*arms, effect.counts) if level is not None)
        yield _row(mart_columns("rpt_audit")[effect.measure].label, *cells, effect.verdict)
    if each.when_chosen is not None and has_control:
        yield (
            f"  when they were chosen their sensitivity was {number(each.when_chosen)}: what of it is gone with the filler "
            "is what choosing the worst does"
        )


def _row(*cells: str) -> str:
    *first, last = cells
    padded = (cell.ljust(width) for cell, width in zip(first, (*WIDTHS[: len(first) - 1], WIDTHS[-1]), strict=True))
    return f"  {''.join(padded)}{last}".rstrip()


def _cell(level: Level) -> str:
    return ranged(level.figure, level.low, level.high)
