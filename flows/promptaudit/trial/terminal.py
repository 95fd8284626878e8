"""Writes a trial for a terminal: what was tried, each measure before and after, and whether a difference is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptaudit.system.display.figures import count, cut, number, ranged
from promptaudit.trial.measures import ACCURACY, column_of

if TYPE_CHECKING:
    from promptaudit.trial.effects import ModelEffects
    from promptaudit.trial.figures import Level
    from promptaudit.trial.run import TrialResult

WITH_FILLER = "with filler"
WIDTHS = (23, 24, 24, 24, 26)


def lines_of(trial: TrialResult) -> list[str]:
    """Writes the lines that a terminal shows."""
    unchanged = "beside them unchanged" if trial.asks_unchanged else "no control"
    beside = unchanged if trial.filler is None else f"{unchanged}, and with a filler: {cut(trial.filler, 60)}"
    run = f"trial {trial.audit_run_id} of '{cut(trial.audit_id)}'"
    samples = f"task {cut(trial.task_id, 60)}, {count(len(trial.sample_ids))} samples"
    lines = [
        f"{run}, from run {trial.base_run_id}: {count(trial.n_asked)} cells asked",
        f"{samples}, {trial.n_variants} prompt {'variant' if trial.n_variants == 1 else 'variants'} a side, {beside}",
        f"tried: {cut(trial.added or trial.instruction or 'the task card as it is now')}",
        *(f"note: {cut(note)}" for note in trial.notes),
    ]
    for each in trial.effects:
        lines += ["", *_table(each, _headings(trial))]
    return lines


def _headings(trial: TrialResult) -> tuple[str, ...]:
    if trial.filler is not None:
        return "unchanged", WITH_FILLER, "tried", "tried - filler"
    return (
        ("unchanged", "tried", "tried - unchanged") if trial.asks_unchanged else ("base run", "tried", "tried - base")
    )


def _table(each: ModelEffects, headings: tuple[str, ...]) -> Iterable[str]:
    yield f"{cut(each.model_id, 60)}, {cut(each.strategy, 60)}: {each.n_samples} samples, {each.n_variants} variants"
    yield _row("", *headings, "")
    for effect in each.measures:
        levels = (effect.before, effect.filler, effect.after, effect.counts)
        cells = (_cell(level) for level in levels if level is not None)
        yield _row(_label(effect.measure), *cells, effect.verdict.replace("_", " "))
    if each.when_chosen is not None and WITH_FILLER in headings:
        yield (
            f"  when they were chosen their sensitivity was {number(each.when_chosen)}: the part that is gone with the "
            "filler comes from choosing the worst"
        )


def _label(measure: str) -> str:
    method, named = measure.removeprefix(ACCURACY), column_of(measure).label
    return cut(f"{named}, {method.removeprefix('field:')}", WIDTHS[0] - 2) if method != measure else named


def _row(*cells: str) -> str:
    *first, last = cells
    padded = (cell.ljust(width) for cell, width in zip(first, (*WIDTHS[: len(first) - 1], WIDTHS[-1]), strict=True))
    return f"  {''.join(padded)}{last}".rstrip()


def _cell(level: Level) -> str:
    return ranged(level.figure, level.low, level.high)
