"""Finds figures of a night that could not be compared with normal nights. Too many of them leave the night unknown.

The same holds for one that was tested the night before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from promptaudit.gate.source import Group, NightState
from promptaudit.registry.gate_rules import JUDGE
from promptaudit.registry.mart_columns import OF_PARTS
from promptaudit.system.display.compared import NightFigure
from promptaudit.system.display.figures import NAME, cut

FULL_RULE = 3
"""Normal nights from which an alarm is raised, as in `promptaudit.udfs.differences.difference`."""
MOST_UNTESTED = 0.1
"""Share of untested figures above which nothing is known of the others either."""
UNKNOWN = ("unconfirmed", "not_comparable")
_MOST_NAMED = 5
_COMPARED_ALONE = ("cost_usd", "latency_ms")


def moved_judges(states: Iterable[NightState]) -> set[tuple[str, str]]:
    """Finds the judges that do not rule as on normal nights, each with the task."""
    return {
        (state.model_id, state.task_id)
        for state in states
        if state.model_id.startswith(JUDGE) and (state.has_alarm or state.state == "unconfirmed")
    }


def judge_of(figure: NightFigure) -> tuple[str, str]:
    """Reads the judge in a measure's name, and adds the task."""
    return figure.measure.partition(":")[2], figure.task_id


def untested(figures: Iterable[NightFigure], states: Sequence[NightState]) -> list[NightFigure]:
    """Lists the figures that could not be tested although there were nights enough and no judge ruled otherwise.

    `lost_samples` is left out: it looks at right answers a second time, once samples were asked on two normal nights.
    """
    known, judges = _settled(states), moved_judges(states)
    return [
        each
        for each in figures
        if each.verdict == "not_comparable"
        and each.group in known
        and each.measure != "lost_samples"
        and judge_of(each) not in judges
    ]


def no_longer_tested(
    before: Iterable[NightFigure], tonight: Iterable[NightFigure], states: Sequence[NightState]
) -> list[NightFigure]:
    """Lists the figures that were tested the night before and are not tonight.

    Gold labels and wordings are left out: a label has its own figure on nights with enough of its samples, a wording
    when it breaks.
    """
    known, judges = _settled(states), moved_judges(states)
    tested = {(*each.group, each.measure) for each in tonight if each.verdict not in UNKNOWN}
    return [
        each
        for each in before
        if each.verdict not in UNKNOWN
        and each.group in known
        and (*each.group, each.measure) not in tested
        and each.measure not in _COMPARED_ALONE
        and not each.measure.startswith(tuple(OF_PARTS))
        and judge_of(each) not in judges
    ]


def untested_in_words(figures: Sequence[NightFigure], states: Sequence[NightState]) -> str | None:
    """Says how many figures of a night could not be tested, and which. None where all could."""
    lacking = untested(figures, states)
    if not lacking:
        return None
    return f"{len(lacking)} of {len(figures)} figures could not be tested: {named(each.measure for each in lacking)}"


def named(measures: Iterable[str]) -> str:
    """Lists the first few of some measures, in words."""
    names = list(dict.fromkeys(cut(measure, NAME) for measure in measures))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _settled(states: Collection[NightState]) -> set[Group]:
    # groups with nights enough for the full rule
    return {state.group for state in states if state.n_nights_normal >= FULL_RULE and state.state != "first_night"}
