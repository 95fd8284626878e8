"""Months of a judge's nights: anchors and answers that come again, ruled on by a judge that errs, wavers, or turns harsh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.nights.states import GroupState, StreamNight, next_state
from promptaudit.udfs.nights.window_test import Nights, spread_of, window_test
from tests.support.night_worlds import CHANGES_ON, adjusted

Floats = NDArray[np.float64]
MEASURES = ("judge_agreement", "judge_match_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeWorld:
    """What is ruled on, and how.

    Attributes:
        harsh: share of what is right in a sentence that is ruled wrong from CHANGES_ON on; the same answers on every night.
        wavers: share of rulings that are drawn anew each night, and come out either way.
        fall: share of the model's right answers that are wrong ones from CHANGES_ON on: the model's change, and not the judge's.
        n_anchors: half of them right in a sentence, half wrong.
        n_answers: that are judged a night, half of them in a sentence.
        again: share of the answers of a night that were given on another night, too.
        n_others: measures of models that are tested on the same nights and did not move.
        n_nights: of the month.
    """

    harsh: float = 0.0
    wavers: float = 0.02
    fall: float = 0.0
    n_anchors: int = 48
    n_answers: int = 200
    again: float = 0.7
    n_others: int = 30
    n_nights: int = 30


def live(world: JudgeWorld, seed: int, measures: tuple[str, ...] = MEASURES) -> list[GroupState]:
    """Returns the states of the judge's group, night by night, under the nightly rule."""
    rng = np.random.default_rng(seed)
    n_pool = 2 * world.n_answers  # each answer that a night may hold; the second half is given where the model fell
    is_right = np.concatenate([np.arange(world.n_anchors) % 2 == 0, rng.random(n_pool) < 0.7])
    is_right[world.n_anchors + world.n_answers :] = False
    in_words = np.concatenate([np.ones(world.n_anchors, bool), np.arange(n_pool) % 2 == 0])
    turns = rng.random(len(is_right)) < world.harsh
    rulings: list[Floats] = []
    state, states = GroupState(), []
    for night in range(world.n_nights):
        is_after = night >= CHANGES_ON
        ruled = is_right & ~(turns & in_words & is_right & is_after)
        drawn = rng.random(len(ruled)) < world.wavers
        ruled = np.where(drawn, rng.random(len(ruled)) < 0.5, ruled)
        values = ruled.astype(float)
        fell = (rng.random(world.n_answers) < world.fall) & is_after & is_right[world.n_anchors : -world.n_answers]
        given = np.concatenate([~fell, fell]) & (rng.random(n_pool) < world.again)
        values[world.n_anchors :][~given] = np.nan
        rulings.append(values)
        state = next_state(state, night, _streams(world, rulings, is_right, state, night, rng, measures), 0.02)
        states.append(state)
    return states


def _streams(
    world: JudgeWorld,
    rulings: list[Floats],
    is_right: NDArray[np.bool_],
    state: GroupState,
    night: int,
    rng: np.random.Generator,
    measures: tuple[str, ...],
) -> dict[str, StreamNight]:
    numbers = [*sorted({*state.normal, *state.good, *state.waiting}), night]
    if len(numbers) == 1:
        return {}
    nights = Nights(night - np.array(numbers), np.isin(numbers, state.normal), np.zeros(len(numbers), bool))
    table = np.stack([rulings[each] for each in numbers])
    anchors, answers = table[:, : world.n_anchors], table[:, world.n_anchors :]
    values = {"judge_agreement": (anchors == is_right[: world.n_anchors]).astype(float), "judge_match_rate": answers}
    tests = {
        name: window_test(own, nights, 1, spread=spread_of(own, nights), shared=spread_of(own, nights))
        for name, own in values.items()
        if name in measures
    }
    (q_values, _) = adjusted([[test.p_value for test in tests.values()], list(rng.random(world.n_others))])
    return {
        name: StreamNight(test=test, q_value=q, worse=-1 if name == "judge_agreement" and test.difference <= 0 else 0)
        for (name, test), q in zip(tests.items(), q_values, strict=True)
    }
