"""Sums up a comparison in a sentence: worse, better, the same, or not known yet."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.marts.comparison.result import RunComparison
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.compared import RunsCompared
from promptaudit.system.display.figures import count, cut, in_unit, moved, number
from promptaudit.system.display.movement import IN_BASE, in_words

NAME = 60
_RIGHT = ("micro_f1", "accuracy")
_OF = {"regressed": "is worse than", "improved": "is better than", "changed": "answers otherwise than"}


def sentence_of(comparison: RunComparison, *, is_short: bool = False) -> str:
    """Writes the decision as a sentence. A model or strategy at its beginning keeps its spelling."""
    decision = decision_of(comparison, is_short=is_short)
    is_name = comparison.names[1] is not None and decision.startswith(cut(comparison.names[1], NAME))
    return f"{decision if is_name else decision[:1].upper() + decision[1:]}."


def decision_of(comparison: RunComparison, *, is_short: bool = False) -> str:
    """Writes the decision that the figures allow, in a sentence, with what it leaves out.

    The short form has no number of samples, no interval and no words of the task about what moved: a page shows them
    beside it.
    """
    figures = comparison.figures
    judged = [each for each in figures if each.p_value is not None and each.verdict != "not_comparable"]
    if not judged:
        reasons = [each.reason for each in figures if each.reason]
        return f"nothing can be compared: {cut(reasons[0], 200)}" if reasons else "nothing to compare"
    costs = [each.measure for each in figures if each.verdict == "regressed" and each.p_value is None]
    n_apart = sum(each.verdict == "not_comparable" for each in figures)
    beside = [
        *([f"{' and '.join(sorted(set(costs)))} regressed"] if costs else []),
        *([f"{count(n_apart)} {'figure' if n_apart == 1 else 'figures'} cannot be compared"] if n_apart else []),
    ]
    return "; ".join([_decision(comparison, judged, is_short=is_short), *beside])


def _decision(comparison: RunComparison, judged: Sequence[RunsCompared], *, is_short: bool) -> str:
    for verdict in _OF:
        if found := [each for each in judged if each.verdict == verdict]:
            sentence = _sentence(comparison, judged, found, verdict, is_short=is_short)
            words = None if is_short else in_words(_largest(found), IN_BASE)
            return sentence if words is None else f"{sentence}; most of it: {words}"
    if doubted := [each for each in judged if each.verdict == "unconfirmed"]:
        largest = _largest(doubted)
        return f"unconfirmed: {_measured(largest, is_short=is_short)}; {cut(largest.reason or '', 200)}"
    if all(each.verdict == "same" for each in judged):
        return f"the same within {number(judged[0].min_effect, 2)} in all {count(len(judged))} figures"
    rest = [each for each in judged if each.verdict != "same"]
    same = len(judged) - len(rest)
    widest = max(rest, key=lambda each: (_is_of(each, _RIGHT), each.detectable_difference or 0.0))
    unit = compared_unit(widest.measure)
    around = moved(widest.difference, widest.difference_low, widest.difference_high, unit)
    size = in_unit(widest.detectable_difference, unit)
    return (
        f"no difference is shown in {count(len(rest))} figures{f', {count(same)} are the same' if same else ''}: "
        f"{cut(widest.measure, NAME)} {around}, and one of {size} would have been found"
    )


def _sentence(
    comparison: RunComparison,
    judged: Sequence[RunsCompared],
    found: Sequence[RunsCompared],
    verdict: str,
    *,
    is_short: bool,
) -> str:
    names = [cut(name, NAME) for name in comparison.names if name is not None] or ["the base", "the candidate"]
    largest = _largest(found)
    others = {other: sum(each.verdict == other for each in judged) - (other == verdict) for other in _OF}
    more = ", ".join(f"{count(n)} {'more ' if other == verdict else ''}{other}" for other, n in others.items() if n)
    return (
        f"{names[1]} {_OF[verdict]} {names[0]}: {_measured(largest, is_short=is_short)}{f' ({more})' if more else ''}"
    )


def _measured(figure: RunsCompared, *, is_short: bool) -> str:
    unit = compared_unit(figure.measure)
    samples = f"{'these ' if (figure.claim or '').startswith('these') else ''}{count(figure.n_samples)} samples"
    difference = moved(figure.difference, figure.difference_low, figure.difference_high, unit)
    figures = f"{in_unit(figure.candidate, unit)} for {in_unit(figure.base, unit)}"
    if is_short:
        return f"{cut(figure.measure, NAME)} {figures}"
    return f"{cut(figure.measure, NAME)} {figures} on {samples} of {cut(figure.task_id, NAME)}, {difference}"


def _largest(found: Sequence[RunsCompared]) -> RunsCompared:
    # accuracy comes first if there is any, then the figure that moved most
    return max(found, key=lambda each: (_is_of(each, _RIGHT), abs(each.difference or 0.0)))


def _is_of(figure: RunsCompared, names: tuple[str, ...]) -> bool:
    return figure.measure.split(":", 1)[0] in names
