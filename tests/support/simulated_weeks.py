"""Nights by simulation: the comparisons and the alarms of each on drawn answers, without run, warehouse or shell.

The verdicts are those of `int_measures_confirmed`, `int_differences_adjusted` and `int_differences_judged`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from flows.alerts.alarms import Alarm, Problem, changes, open_bases
from flows.alerts.problems import problems_of
from tests.udfs.comparison_worlds import (
    MIN_EFFECT,
    MODEL,
    NOT_ASKED,
    WORSE_IS_DOWN,
    WORSE_IS_UP,
    Codes,
    Design,
    Floats,
    Model,
    Nights,
    asked,
    asked_in_batches,
    columns_of,
    compared,
    effects_of,
    mixed,
    other_wordings,
    q_values,
    shares_of,
)
from udfs.comparison import Compared, confirm_churn

DESIGN = Design(n_samples=100, n_variants=12)
SWAPPED = replace(MODEL, skill=2.2)
EDITED = replace(MODEL, skill=1.2)
PROVIDER, PROMPT, NOTHING = "provider_changed_the_model", "we_changed_the_prompt", "nothing_changed"
N_NIGHTS, SWAP, EDIT = 7, 4, 6
CHURN = "label_churn"
LEVEL, LEVEL_OF_NIGHTS = 0.05, 0.01


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One model on one night: what it answers from, what it said, and which plan and which model it was."""

    shares: Floats
    labels: Codes
    gold: Codes
    plan: int = 0
    served: int = 0


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Nights of models, by model and night from 1.

    `pinned` is the night of a baseline, `is_confirmed` whether a third night has a say.
    """

    models: Sequence[Mapping[int, Asked]]
    design: Design
    seed: int
    n_resamples: int
    pinned: int | None = None
    is_confirmed: bool = True

    def rows(self, base: int, night: int) -> list[dict[str, Any]]:
        """Rows of marts.rpt_run_comparisons, of all models, as far as problems read them."""
        third, stands_in = self._third(base, night) if self.is_confirmed else (None, "older")
        pairs = [self._compared(model, base, night) for model in self.models]
        beside: list[dict[str, Compared]] = [{} for _ in pairs]
        if third is not None:
            other = (third, night) if stands_in == "older" else (base, third)
            single = night if stands_in == "older" else base
            beside = [
                self._confirmed(model, found, other, (single, *({base, night, third} - {single})))
                for model, found in zip(self.models, pairs, strict=True)
            ]
        rows = []
        for is_churn in (False, True):
            own = [
                (place, row, beside[place].get(measure))
                for place, found in enumerate(pairs)
                for measure, row in found.items()
                if (measure == CHURN) == is_churn
            ]
            adjusted = q_values([row.p_value for _, row, _ in own])
            rows += [
                self._row(place, row, confirming, q, base, night)
                for (place, row, confirming), q in zip(own, adjusted, strict=True)
            ]
        return rows

    def _third(self, base: int, night: int) -> tuple[int | None, str]:
        """The night before the older one that asked the same, else the last one between that asked what the newer one did."""
        nights = self.models[0]
        before = [n for n in range(1, base) if nights[n].plan == nights[base].plan]
        between = [n for n in range(base + 1, night) if nights[n].plan == nights[night].plan]
        return (before[-1], "older") if before else (between[-1] if between else None, "newer")

    def _compared(self, model: Mapping[int, Asked], base: int, night: int) -> dict[str, Compared]:
        first, second = model[base], model[night]
        pair = Nights(first.shares, second.shares, first.gold, first.plan == second.plan)
        columns = columns_of(pair, first.labels, second.labels)
        return compared(columns, self.design, seed=self.seed, n_resamples=self.n_resamples)

    def _confirmed(
        self, model: Mapping[int, Asked], found: Mapping[str, Compared], other: tuple[int, int], nights: Sequence[int]
    ) -> dict[str, Compared]:
        """What a third night says of a model: of `nights` the first is held against the two others."""
        if not any(_differs(row) for row in found.values()):
            return {}
        confirmed = self._compared(model, *other)
        if CHURN in confirmed and not _differs(found[CHURN]):
            del confirmed[CHURN]
        elif CHURN in confirmed:
            labels = np.stack([model[night].labels for night in nights])
            n_classes = self.design.n_labels + 1
            p_value = confirm_churn(
                *np.nonzero(labels != NOT_ASKED), labels[labels != NOT_ASKED], n_classes=n_classes, single=0
            )
            confirmed[CHURN] = confirmed[CHURN]._replace(p_value=p_value)
        return confirmed

    def _row(
        self, place: int, found: Compared, confirming: Compared | None, q: float, base: int, night: int
    ) -> dict[str, Any]:
        first, second = self.models[place][base], self.models[place][night]
        cause = PROMPT if first.plan != second.plan else PROVIDER if first.served != second.served else NOTHING
        is_alone = self.is_confirmed and found.measure == CHURN and confirming is None
        level = LEVEL_OF_NIGHTS if is_alone else LEVEL
        return {
            "base_run_id": str(base), "model_id": str(place), "task_id": "t", "strategy": "s", "measure": found.measure,
            "verdict": verdict_of(found, confirming, q, level), "cause": cause, "reason": cause, "base": found.base,
            "candidate": found.candidate, "difference": found.difference, "difference_low": found.low,
            "difference_high": found.high, "q_value": q, "p_value": found.p_value,
        }  # fmt: skip


def told_nights(audit: Audit) -> dict[int, set[str]]:
    """The nights of an audit that send a message, and the causes it names; none for a recovery."""
    open_alarms: list[Alarm] = []
    told: dict[int, set[str]] = {}
    for night in range(2, len(audit.models[0]) + 1):
        against: dict[str, Any] = {str(night - 1): "last_night"}
        if audit.pinned is not None and audit.pinned < night - 1:
            against[str(audit.pinned)] = "baseline"
        against |= {base: "alarm" for base in open_bases(open_alarms) if base not in against}
        found, verdicts = problems_of([row for base in against for row in audit.rows(int(base), night)], against)
        tonight = changes(open_alarms, found, verdicts)
        over = {item.alarm.alarm_id for item in tonight.recovered}
        open_alarms = [alarm for alarm in open_alarms if alarm.alarm_id not in over]
        open_alarms += [raised_at(problem, night) for problem in tonight.raised]
        if tonight.news or any(item.is_news for item in tonight.recovered):
            told[night] = {problem.cause or "" for problem in tonight.news}
    return told


def eventful_week(seed: int, n_resamples: int) -> Audit:
    """One model whose provider swaps it before night 4 and whose prompt is edited before night 6; nothing else happens."""
    rng = np.random.default_rng([seed, 7])
    first = effects_of(rng, DESIGN)
    edited = other_wordings(rng, first)
    nights = {}
    for night in range(1, N_NIGHTS + 1):
        model = EDITED if night >= EDIT else SWAPPED if night >= SWAP else MODEL
        shares = shares_of(edited if night >= EDIT else first, model)
        nights[night] = Asked(
            shares=shares, labels=asked(rng, shares, DESIGN), gold=first.gold, plan=int(night >= EDIT),
            served=int(night >= SWAP),
        )  # fmt: skip
    return Audit(models=[nights], design=DESIGN, seed=seed, n_resamples=n_resamples)


def quiet_nights(
    seed: int,
    *,
    design: Design,
    n_nights: int,
    n_resamples: int,
    n_models: int = 3,
    batch_sd: float = 0.0,
    pinned: int | None = None,
) -> Audit:
    """Models that stay as they are; calls of a batch of 50 share a shock of `batch_sd` logits."""
    models = []
    for place in range(n_models):
        rng = np.random.default_rng([seed, place, 11])
        first = effects_of(rng, design)
        shares = shares_of(first, MODEL)
        models.append(
            {
                night: Asked(shares=shares, labels=asked_in_batches(rng, shares, design, batch_sd), gold=first.gold)
                for night in range(1, n_nights + 1)
            }
        )
    return Audit(models=models, design=design, seed=seed, n_resamples=n_resamples, pinned=pinned)


def swapped_nights(
    seed: int,
    *,
    design: Design,
    n_resamples: int,
    kept: float = 1.0,
    swapped: Model = MODEL,
    n_models: int = 3,
) -> Audit:
    """Three nights of models, of which the first is `swapped` before the third; its answers correlate with the old by `kept`."""
    audit = quiet_nights(seed, design=design, n_nights=3, n_resamples=n_resamples, n_models=n_models)
    rng = np.random.default_rng([seed, 0, 11])
    first = effects_of(rng, design)
    second = first._replace(samples=mixed(rng, first.samples, kept), both=mixed(rng, first.both, kept))
    shares = shares_of(second, swapped)
    third = Asked(shares=shares, labels=asked(rng, shares, design), gold=first.gold, served=1)
    return replace(audit, models=[{**audit.models[0], 3: third}, *audit.models[1:]])


def verdict_of(found: Compared, confirming: Compared | None, q_value: float, level: float) -> str:
    """The verdict on a difference; a confirming one has to be as large in the same direction."""
    if np.isnan(found.p_value):
        return "not_comparable"
    holds_too = True
    if confirming is not None and not np.isnan(confirming.p_value):
        is_as_large = confirming.difference * np.sign(found.difference) >= MIN_EFFECT
        n_sides = 1 if found.measure == CHURN else 2
        holds_too = bool(is_as_large and confirming.p_value * 2 / n_sides <= LEVEL_OF_NIGHTS)
    if q_value > level or abs(found.difference) < MIN_EFFECT or not holds_too:
        return "within_noise"
    if found.measure == CHURN:
        return "changed"
    bad = found.difference if found.measure in WORSE_IS_UP else -found.difference
    known = {*WORSE_IS_UP, *WORSE_IS_DOWN}
    return "regressed" if found.measure in known and bad > 0 else "improved"


def _differs(found: Compared) -> bool:
    return bool(found.p_value <= LEVEL and abs(found.difference) >= MIN_EFFECT)


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
