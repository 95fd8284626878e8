"""Prints a comparison for people: how measures came out, which differ, why, and which samples flipped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptaudit.marts.comparison.decision import sentence_of
from promptaudit.marts.comparison.result import NEWS, VERDICTS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.figures import chance, cut, in_unit, moved, when
from promptaudit.system.display.movement import IN_BASE, confused_in_words, place_of

if TYPE_CHECKING:
    from rich.table import Table

    from promptaudit.marts.comparison.result import RunComparison

MOST_FLIPS = 8  # named, of a kind
MOST_MOVED = 3  # groups whose largest confusion is said
FEWEST_NIGHTS = 3  # as `promptaudit.udfs.differences.difference` has it
NAME = 60


def opening_lines(comparison: RunComparison) -> list[str]:
    """Writes the decision, a line for each run, what the verdicts rest on, and how many measures came out how."""
    sides = zip(("base", "candidate"), comparison.runs, comparison.names, strict=bool(comparison.runs))
    lines = [
        f"{name:<10} {run.audit_run_id}  {cut(run.audit_id, NAME)}, {when(run.started_at)}"
        + ("" if called is None else f", {cut(called, NAME)}")
        for name, run, called in sides
    ]
    counts = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in comparison.verdicts.items())
    n_tests = sum(figure.p_value is not None for figure in comparison.figures)
    tests = f"{n_tests} tests at level .05; q says how often chance alone would show as much in any of them"
    return [sentence_of(comparison), *lines, *_rests_on(comparison), f"{counts or 'nothing to compare'} ({tests})"]


def _rests_on(comparison: RunComparison) -> list[str]:
    # the nights that show how far two nights differ if nothing changed
    judged = [each for each in comparison.figures if each.p_value is not None]
    if not judged:
        return []
    claims = " or ".join(sorted({each.claim for each in judged if each.claim}))
    parts = [f"what is said holds for {claims}"] if claims else []
    n_nights = [each.n_alike_nights or 0 for each in judged]
    n_unknown = sum(n < FEWEST_NIGHTS for n in n_nights)
    if len({run.audit_run_id for run in comparison.runs}) == 1:
        parts.insert(0, "asked in one run: no nights between them")
    else:
        if n_unknown:
            unknown = f"how far {n_unknown} of {len(judged)} figures wander between nights is not known yet"
            parts.insert(0, f"{unknown} ({FEWEST_NIGHTS} are needed)")
        if n_unknown < len(judged):
            parts.insert(0, f"held against up to {max(n_nights)} normal nights")
    return [f"nights     {'; '.join(parts)}"]


def table_of(comparison: RunComparison, *, all_rows: bool) -> Table | None:
    """Makes a table of the measures that differ, or of all; None without any."""
    from rich.table import Table
    from rich.text import Text

    figures = [figure for figure in comparison.figures if all_rows or figure.verdict in (*NEWS, "unconfirmed")]
    if not figures:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("verdict", "model / task / strategy", "measure"):
        table.add_column(heading, overflow="fold")
    for heading in ("base", "candidate", "difference", "q", "detectable"):
        table.add_column(heading, justify="right", no_wrap=True)
    for figure in sorted(figures, key=lambda figure: VERDICTS.index(figure.verdict)):
        unit = compared_unit(figure.measure)
        cells = (
            figure.verdict.replace("_", " "),
            place_of(figure),
            figure.measure,
            in_unit(figure.base, unit),
            in_unit(figure.candidate, unit),
            moved(figure.difference, figure.difference_low, figure.difference_high, unit),
            chance(figure.q_value),
            in_unit(figure.detectable_difference, unit),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def closing_lines(comparison: RunComparison) -> list[str]:
    """Writes what moved in the words of the task, why measures came out this way, and which samples flipped."""
    figures = comparison.figures
    lines = [
        f"moved      {place_of(each)}: {confused_in_words(each, IN_BASE)}" for each in comparison.moved[:MOST_MOVED]
    ]
    reasons = Counter(each.reason or "" for each in figures if each.verdict not in ("not_comparable", "not_judged"))
    lines += [f"why        {cut(reason, 400)}" for reason, _ in reasons.most_common(5)]
    apart = Counter(each.reason or "" for each in figures if each.verdict == "not_comparable")
    lines += [f"apart      {n} not comparable: {cut(reason, 200)}" for reason, n in apart.most_common(5)]
    for flip, samples in _samples_by_flip(comparison).items():
        named = ", ".join(cut(sample, NAME) for sample in samples[:MOST_FLIPS])
        more = f" and {len(samples) - MOST_FLIPS} more" if len(samples) > MOST_FLIPS else ""
        lines.append(f"flips      {len(samples)} {flip.replace('_', ' ')}: {named}{more}")
    return lines


def _samples_by_flip(comparison: RunComparison) -> dict[str, list[str]]:
    samples: dict[str, set[str]] = {}
    for row in comparison.flips:
        samples.setdefault(row["flip"], set()).add(row["sample_id"])
    return {flip: sorted(ids) for flip, ids in samples.items()}
