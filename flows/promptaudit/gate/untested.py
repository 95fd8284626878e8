"""Which figures of a night could not be held against normal nights: too many of them, or one that was, say nothing is worse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from promptaudit.gate.source import Group, NightState
from promptaudit.registry.gate_rules import JUDGE
from promptaudit.registry.mart_columns import OF_PARTS
from promptaudit.system.display.compared import NightFigure
from promptaudit.system.display.figures import NAME, cut

FULL_RULE = 3
"""Normal nights from which an alarm is raised, as `promptaudit.udfs.differences.difference` has it."""
MOST_UNTESTED = 0.1
"""Share of figures that could not be tested above which nothing is known of the others either."""
UNKNOWN = ("unconfirmed", "not_comparable")
_MOST_NAMED = 5
_COMPARED_ALONE = ("cost_usd", "latency_ms")


def moved_judges(states: Iterable[NightState]) -> set[tuple[str, str]]:
    """Returns the judges that do not rule as on normal nights, each with the task."""
    return {
        (state.model_id, state.task_id)
        for state in states
        if state.model_id.startswith(JUDGE) and (state.has_alarm or state.state == "unconfirmed")
    }


def judge_of(figure: NightFigure) -> tuple[str, str]:
    """Returns the judge that a measure is by, and the task."""
    return figure.measure.partition(":")[2], figure.task_id


def untested(figures: Iterable[NightFigure], states: Sequence[NightState]) -> list[NightFigure]:
    """Returns the figures that could not be tested though there were nights enough, and no judge ruled otherwise.

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
    """Returns the figures of the night before that were tested then, and are not tonight.

    Gold labels and wordings are left out: a label has its own figure on nights with samples of it enough, a wording as it breaks.
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
    """Returns how many figures of a night could not be tested, and which; None where all could."""
    lacking = untested(figures, states)
    if not lacking:
        return None
    return f"{len(lacking)} of {len(figures)} figures could not be tested: {named(each.measure for each in lacking)}"


def named(measures: Iterable[str]) -> str:
    """Returns the first few of some measures, in words."""
    names = list(dict.fromkeys(cut(measure, NAME) for measure in measures))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _settled(states: Collection[NightState]) -> set[Group]:
    """Returns the models, tasks and strategies that the whole rule holds of."""
    return {state.group for state in states if state.n_nights_normal >= FULL_RULE and state.state != "first_night"}
