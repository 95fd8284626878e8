"""Turns verdicts on nights and on comparisons with baselines into problems: what is worse, by how much, in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable

from promptaudit.gate.alerts.alarms import Against, Alarm, Place, Problem
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.compared import Compared, NightFigure, RunsCompared, names_of
from promptaudit.system.display.figures import in_unit, moved
from promptaudit.system.display.movement import by_chance, in_words, why

WORSE = ("regressed", "changed")
COSTS = ("cost_usd", "latency_ms")


def problems_of(
    figures: Iterable[RunsCompared], against: Against = "baseline"
) -> tuple[list[Problem], dict[Place, str]]:
    """Finds what is worse than a baseline, or dearer than on a normal night, in the given order, and every verdict.

    Consistency raises no alarm by itself, since noise raises it and a model that is mended loses it. It is reported
    beside another measure of its group that regressed. Verdicts are by place (model, task, strategy, measure, base run)
    as `promptaudit.gate.alerts.alarms.changes` takes them.
    """
    problems, figures = [], list(figures)
    verdicts: dict[Place, str] = {}
    worse = {
        (each.group, each.base_run_id)
        for each in figures
        if each.verdict == "regressed" and each.measure != "consistency"
    }
    for each in figures:
        verdicts[*each.group, each.measure, each.base_run_id] = each.verdict
        if each.verdict in WORSE and (each.measure != "consistency" or (each.group, each.base_run_id) in worse):
            problems.append(_problem(each, each.base_run_id, each.base_run_id, against))
    return problems, verdicts


def problems_of_night(
    figures: Iterable[NightFigure], alarms: Iterable[Alarm]
) -> tuple[list[Problem], dict[Place, str]]:
    """Finds what is worse than on normal nights, and the verdict of every measure that is or was in an open alarm.

    An alarm of nights is known by its first night, in the place of a base run. A measure that is no longer in an alarm
    was accepted, or what is asked changed. Where an alarm became much worse, another begins with that night in its
    place, and is reported as such.
    """
    problems, tonight = [], set()
    verdicts: dict[Place, str] = {}
    for each in figures:
        tonight.add((*each.group, each.measure))
        if each.since_run_id is None:
            continue
        verdicts[*each.group, each.measure, each.since_run_id] = "worse_since"
        verdicts[*each.group, each.measure, each.first_night] = each.verdict
        if each.verdict in WORSE:
            problems.append(_problem(each, each.first_night, each.normal_run_id, "normal_nights"))
    for alarm in alarms:
        if (
            alarm.key.is_compared
            and alarm.key.place not in verdicts
            and alarm.key.place[:4] in tonight
            and not is_cost(alarm)
        ):
            verdicts[alarm.key.place] = "accepted"
    return problems, verdicts


def is_cost(alarm: Alarm) -> bool:
    """Checks whether an alarm is about the cost or time of answers, which are compared with one normal night."""
    return alarm.key.measure in COSTS


def _problem(figure: Compared, base: str | None, normal: str | None, against: Against) -> Problem:
    return Problem(
        kind="regressed" if figure.verdict == "regressed" else "changed",
        summary=summary(figure),
        reason=why(figure),
        moved=in_words(figure),
        cause=figure.cause,
        **names_of(figure),
        measure=figure.measure,
        base_run_id=base,
        compare_with=normal,
        against=against,
    )


def summary(figure: Compared) -> str:
    """Writes a comparison's figures in one line: `0.081 → 0.143, +0.062 [+0.041, +0.083], by chance 1 time in 1,000`.

    What is NULL is left out.
    """
    return ", ".join(figures_of(figure))


def figures_of(figure: Compared) -> list[str]:
    """Lists a measure's figure before and after, the difference with its interval, and how sure it is, without NULLs.

    q is of the family of one pair of runs; a measure outside it (label_churn) gives its own p.
    """
    unit = compared_unit(figure.measure)
    parts = [f"{in_unit(figure.base, unit)} → {in_unit(figure.candidate, unit)}"]
    if figure.difference is not None and math.isfinite(figure.difference):
        parts.append(moved(figure.difference, figure.difference_low, figure.difference_high, unit))
    sure = [value for value in (figure.q_value, figure.p_value) if value is not None and math.isfinite(value)]
    return parts + [by_chance(value) for value in sure[:1]]
