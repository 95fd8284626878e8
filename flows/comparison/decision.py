"""Says in a sentence what a comparison comes to: worse, better, the same, or not known yet."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.flows.comparison.result import RunComparison
from promptaudit.flows.display.compared import RunsCompared
from promptaudit.flows.display.figures import count, cut, in_unit, moved, number
from promptaudit.flows.display.movement import IN_BASE, in_words
from promptaudit.models_registry.mart_columns import compared_unit

NAME = 60
_RIGHT = ("micro_f1", "accuracy")
_OF = {"regressed": "is worse than", "improved": "is better than", "changed": "answers otherwise than"}


def decision_of(comparison: RunComparison) -> str:
    """Returns the decision that the figures allow, in a sentence."""
    figures = comparison.figures
    judged = [each for each in figures if each.p_value is not None]
    if not judged:
        reasons = [each.reason for each in figures if each.reason]
        return f"nothing can be compared: {cut(reasons[0], 200)}" if reasons else "nothing to compare"
    for verdict in _OF:
        if told := [each for each in judged if each.verdict == verdict]:
            return _told(comparison, told, verdict)
    if told := [each for each in judged if each.verdict == "unconfirmed"]:
        largest = _largest(told)
        return f"unconfirmed: {_measured(largest)}; {cut(largest.reason or '', 200)}"
    least = judged[0].min_effect or 0.0
    if all(each.verdict == "same" for each in judged):
        return f"the same within {number(least, 2)} in all {count(len(judged))} figures"
    found = [each for each in judged if _is_of(each, _RIGHT) and each.detectable_difference is not None] or [
        each for each in judged if each.detectable_difference is not None
    ]
    if not found:
        return f"no difference beyond {number(least, 2)} was found"
    widest = max(found, key=lambda each: each.detectable_difference or 0.0)
    size = in_unit(widest.detectable_difference, compared_unit(widest.measure))
    return f"no difference beyond {number(least, 2)} was found, and one of {size} in {widest.measure} would have been"


def _told(comparison: RunComparison, told: Sequence[RunsCompared], verdict: str) -> str:
    names = [cut(name, NAME) for name in comparison.models if name is not None] or ["the base", "the candidate"]
    largest = _largest(told)
    more = f" (and {count(len(told) - 1)} more {verdict})" if len(told) > 1 else ""
    words = in_words(largest, IN_BASE)
    most = "" if words is None else f"; most of it: {words}"
    return f"{names[1]} {_OF[verdict]} {names[0]}: {_measured(largest)}{more}{most}"


def _measured(figure: RunsCompared) -> str:
    """What a figure is for what it was, of what, and by how much."""
    unit = compared_unit(figure.measure)
    samples = f"{'these ' if (figure.claim or '').startswith('these') else ''}{count(figure.n_samples)} samples"
    difference = moved(figure.difference, figure.difference_low, figure.difference_high, unit)
    figures = f"{in_unit(figure.candidate, unit)} for {in_unit(figure.base, unit)}"
    return f"{figure.measure} {figures} on {samples} of {cut(figure.task_id, NAME)}, {difference}"


def _largest(told: Sequence[RunsCompared]) -> RunsCompared:
    """The one that says most: of right answers where any is, else the one that moved most."""
    return max(told, key=lambda each: (_is_of(each, _RIGHT), abs(each.difference or 0.0)))


def _is_of(figure: RunsCompared, names: tuple[str, ...]) -> bool:
    return figure.measure.split(":", 1)[0] in names
