"""Weeks of nights by simulation: the comparison and the alarms of a night on drawn answers, without run, warehouse or shell.

A provider swaps its model before night 4, the prompt is edited before night 6, and nothing else happens.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from flows.alerts.alarms import Alarm, Problem, changes, open_bases
from flows.alerts.from_comparisons import problems_of
from tests.udfs.comparison_worlds import (
    MIN_EFFECT,
    MODEL,
    WORSE_IS_DOWN,
    WORSE_IS_UP,
    Design,
    Nights,
    asked,
    columns_of,
    compared,
    effects_of,
    other_wordings,
    q_values,
    shares_of,
)
from udfs.comparison import Compared

DESIGN = Design(n_samples=100, n_variants=12)
SWAPPED = replace(MODEL, skill=2.2)
EDITED = replace(MODEL, skill=1.2)
PROVIDER, PROMPT, NOTHING = "provider_changed_the_model", "we_changed_the_prompt", "nothing_changed"
N_NIGHTS, SWAP, EDIT = 7, 4, 6


def told_nights(seed: int, n_resamples: int) -> dict[int, set[str]]:
    """The nights of week `seed` that send a message, and the causes it names; none for a recovery."""
    rng = np.random.default_rng([seed, 7])
    first = effects_of(rng, DESIGN)
    edited = other_wordings(rng, first)
    models = {n: (EDITED if n >= EDIT else SWAPPED if n >= SWAP else MODEL) for n in range(1, N_NIGHTS + 1)}
    shares = {n: shares_of(edited if n >= EDIT else first, models[n]) for n in models}
    labels = {n: asked(rng, shares[n], DESIGN) for n in models}

    def rows(base: int, night: int) -> list[dict[str, Any]]:
        is_same = (base >= EDIT) == (night >= EDIT)
        pair = columns_of(Nights(shares[base], shares[night], first.gold, is_same), labels[base], labels[night])
        found = list(compared(pair, DESIGN, seed=seed, n_resamples=n_resamples).values())
        q = q_values(found)
        cause = PROMPT if not is_same else PROVIDER if (base >= SWAP) != (night >= SWAP) else NOTHING
        return [row_of(each, q.get(each.measure), cause, base) for each in found]

    open_alarms: list[Alarm] = []
    told: dict[int, set[str]] = {}
    for night in range(2, N_NIGHTS + 1):
        against: dict[str, Any] = {str(night - 1): "last_night"}
        against |= {base: "alarm" for base in open_bases(open_alarms) if base not in against}
        found, verdicts = problems_of([row for base in against for row in rows(int(base), night)], against)
        tonight = changes(open_alarms, found, verdicts)
        over = {item.alarm.alarm_id for item in tonight.recovered}
        open_alarms = [alarm for alarm in open_alarms if alarm.alarm_id not in over]
        open_alarms += [raised_at(problem, night) for problem in tonight.raised]
        if tonight.news or any(item.is_news for item in tonight.recovered):
            told[night] = {problem.cause or "" for problem in tonight.news}
    return told


def row_of(found: Compared, q_value: float | None, cause: str, base: int) -> dict[str, Any]:
    """A row of marts.rpt_run_comparisons as far as problems read it."""
    bad = found.difference if found.measure in WORSE_IS_UP else -found.difference
    known = {*WORSE_IS_UP, *WORSE_IS_DOWN}
    if found.reason is not None or q_value is None:
        verdict = "not_comparable"
    elif q_value > 0.05 or abs(found.difference) < MIN_EFFECT:
        verdict = "within_noise"
    elif found.measure == "label_churn":
        verdict = "changed"
    else:
        verdict = "regressed" if found.measure in known and bad > 0 else "improved"
    return {
        "base_run_id": str(base), "model_id": "m", "task_id": "t", "strategy": "s", "measure": found.measure,
        "verdict": verdict, "cause": cause, "reason": cause, "base": found.base, "candidate": found.candidate,
        "difference": found.difference, "difference_low": found.low, "difference_high": found.high,
        "q_value": q_value, "p_value": found.p_value,
    }  # fmt: skip


def raised_at(problem: Problem, night: int) -> Alarm:
    """The alarm that a problem opens on a night."""
    when = datetime(2026, 11, 1) + timedelta(days=night)
    return Alarm(
        alarm_id=f"{night} {problem.key}",
        audit_run_id=str(night),
        key=problem.key,
        summary=problem.summary,
        reason=problem.reason,
        since=when,
        raised_at=when,
    )
