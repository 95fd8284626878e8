"""Prints a comparison for people: how measures came out, which differ, why, and which samples flipped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptaudit.marts.comparison.decision import sentence_of
from promptaudit.marts.comparison.result import NEWS, VERDICTS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.columns import FIGURES, FOLDED, drawn
from promptaudit.system.display.figures import chance, cut, in_unit, listed, moved, tally, when
from promptaudit.system.display.movement import IN_BASE, confused_in_words, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from promptaudit.marts.comparison.result import RunComparison
    from promptaudit.system.display.compared import RunsCompared

MOST_FLIPS = 8  # named, of a kind
MOST_MOVED = 3  # groups whose largest confusion is said
FEWEST_NIGHTS = 3  # as `promptaudit.udfs.differences.difference` has it
NAME = 60
COLUMNS = (
    *((heading, FOLDED) for heading in ("verdict", "model / task / strategy", "measure")),
    *((heading, FIGURES) for heading in ("base", "candidate", "difference", "q", "detectable")),
)


def printed(comparison: RunComparison, *, all_rows: bool) -> Iterator[RenderableType]:
    """Yields what a terminal shows: the decision, both runs, and a table of the measures that differ, or of all.

    What moved, why measures came out this way, and which samples flipped follow.
    """
    yield sentence_of(comparison)
    sides = zip(("base", "candidate"), comparison.runs, comparison.names, strict=bool(comparison.runs))
    for name, run, called in sides:
        part = "" if called is None else f", {cut(called, NAME)}"
        yield f"{name:<10} {run.audit_run_id}  {cut(run.audit_id, NAME)}, {when(run.started_at)}{part}"
    yield from _rests_on(comparison)
    figures = comparison.figures
    n_tests = sum(figure.p_value is not None for figure in figures)
    tests = f"{n_tests} tests at level .05; q says how often chance alone would show as much in any of them"
    yield f"{tally(comparison.verdicts) or 'nothing to compare'} ({tests})"
    if rows := shown_figures(comparison, all_rows=all_rows):
        yield drawn(COLUMNS, map(cells, rows), box=None, pad_edge=False, header_style="bold")
    for each in comparison.moved[:MOST_MOVED]:
        yield f"moved      {place_of(each)}: {confused_in_words(each, IN_BASE)}"
    reasons = Counter(each.reason or "" for each in figures if each.verdict not in ("not_comparable", "not_judged"))
    yield from (f"why        {cut(reason, 400)}" for reason, _ in reasons.most_common(5))
    apart = Counter(each.reason or "" for each in figures if each.verdict == "not_comparable")
    yield from (f"apart      {n} not comparable: {cut(reason, 200)}" for reason, n in apart.most_common(5))
    flips: dict[str, set[str]] = {}
    for row in comparison.flips:
        flips.setdefault(row["flip"], set()).add(row["sample_id"])
    for flip, samples in flips.items():
        names = listed(sorted(samples), MOST_FLIPS, NAME)
        yield f"flips      {len(samples)} {flip.replace('_', ' ')}: {names}"


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


def shown_figures(comparison: RunComparison, *, all_rows: bool = False) -> list[RunsCompared]:
    """Picks the figures that differ, or all, the gravest verdict first."""
    rows = [figure for figure in comparison.figures if all_rows or figure.verdict in (*NEWS, "unconfirmed")]
    return sorted(rows, key=lambda figure: VERDICTS.index(figure.verdict))


def cells(figure: RunsCompared) -> tuple[str, ...]:
    """Writes the cells of a figure under COLUMNS."""
    unit = compared_unit(figure.measure)
    return (
        figure.verdict.replace("_", " "),
        place_of(figure),
        figure.measure,
        in_unit(figure.base, unit),
        in_unit(figure.candidate, unit),
        moved(figure.difference, figure.difference_low, figure.difference_high, unit),
        chance(figure.q_value),
        in_unit(figure.detectable_difference, unit),
    )
