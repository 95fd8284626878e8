"""Two nights of a simulated model, drawn so that what differs between them is known.

A softmax classifier answers from effects of the sample, of the wording and of the two together; a world says which of
them the second night keeps, draws anew or scales. Answers are drawn independently in every cell, as the `simulated`
annotator draws them, and come out as the columns of `promptaudit.udfs.comparison.compare_answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from promptaudit.udfs.comparison import Compared, compare_accuracies, compare_answers, detectable_difference

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

WORSE_IS_DOWN = frozenset({"consistency", "micro_f1", "pss_intra", "pss_inter", "accuracy"})
WORSE_IS_UP = frozenset({"sensitivity", "invalid_rate", "accuracy_std"})
MIN_EFFECT = 0.02
NOT_ASKED = -2


@dataclass(frozen=True)
class Design:
    """How much is asked: the original wording more often than the others, as audit cards have it."""

    n_samples: int
    n_variants: int
    n_labels: int = 5
    original_asks: int = 10
    variant_asks: int = 2


@dataclass(frozen=True)
class Model:
    """Sizes of the effects, in logits; `invalid` is the logit of answers outside the labels."""

    skill: float = 3.2
    sample_sd: float = 1.5
    wording_sd: float = 0.6
    both_sd: float = 0.8
    shock_sd: float = 0.0
    invalid: float = -1.5
    temperature: float = 1.0


class Effects(NamedTuple):
    """Standard normal effects of samples (N, C), wordings (Q, C), both (N, Q, C) and a night's shocks (Q, C)."""

    gold: Codes
    samples: Floats
    wordings: Floats
    both: Floats
    shocks: Floats


class Nights(NamedTuple):
    """What each night answers from: probabilities (N, Q, C), the last class being N/A; wording 0 is the original."""

    base: Floats
    candidate: Floats
    gold: Codes
    has_same_wordings: bool


class Answers(NamedTuple):
    """Columns of `compare_answers`, in its order."""

    side: Codes
    sample: Codes
    variant: Codes
    temperature: Codes
    is_original: NDArray[np.bool_]
    repetition: Codes
    label: Codes
    gold: Codes


def effects_of(rng: np.random.Generator, design: Design) -> Effects:
    """A night's effects; every gold label is as likely."""
    n, q, c = design.n_samples, design.n_variants, design.n_labels + 1
    return Effects(
        gold=rng.integers(0, design.n_labels, n),
        samples=rng.standard_normal((n, c)),
        wordings=rng.standard_normal((q, c)),
        both=rng.standard_normal((n, q, c)),
        shocks=rng.standard_normal((q, c)),
    )


def mixed(rng: np.random.Generator, effect: Floats, kept: float) -> Floats:
    """As normal as before and correlated with it by `kept`."""
    return np.asarray(kept * effect + np.sqrt(1 - kept**2) * rng.standard_normal(effect.shape))


def shares_of(effects: Effects, model: Model) -> Floats:
    """Probability of each class in each cell, (N, Q, C)."""
    common = model.wording_sd * effects.wordings + model.shock_sd * effects.shocks
    logits = model.sample_sd * effects.samples[:, None] + common + model.both_sd * effects.both
    logits[np.arange(len(effects.gold)), :, effects.gold] += model.skill
    logits[:, :, -1] += model.invalid
    logits /= model.temperature
    weight = np.exp(logits - logits.max(axis=2, keepdims=True))
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


def asked(rng: np.random.Generator, shares: Floats, design: Design) -> Codes:
    """Labels (N, Q, most asks), the last class as -1 and what is not asked as -2."""
    n, q, n_classes = shares.shape
    labels = np.full((n, q, max(design.original_asks, design.variant_asks)), NOT_ASKED)
    edges = shares.cumsum(axis=2)[:, :, None, :-1]
    for wordings, n_asks in ((slice(0, 1), design.original_asks), (slice(1, q), design.variant_asks)):
        own = edges[:, wordings]
        draw = rng.random((*own.shape[:2], n_asks, 1))
        label = (draw >= own).sum(axis=3)
        labels[:, wordings, :n_asks] = np.where(label == n_classes - 1, -1, label)
    return labels


def columns_of(nights: Nights, base: Codes, candidate: Codes) -> Answers:
    """Both nights' labels (N, Q, asks) as columns; wordings drawn anew have codes of their own."""
    parts = []
    for side, labels in ((0, base), (1, candidate)):
        sample, wording, repetition = np.nonzero(labels != NOT_ASKED)
        is_anew = (side == 1) & (wording > 0) & (not nights.has_same_wordings)
        parts.append(
            (
                np.full(len(sample), side),
                sample,
                wording + is_anew * labels.shape[1],
                np.where(wording == 0, -1, 0),
                wording == 0,
                repetition + 1,
                labels[sample, wording, repetition],
                nights.gold[sample],
            )
        )
    return Answers(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def answers_of(rng: np.random.Generator, nights: Nights, design: Design) -> Answers:
    """Two nights of answers drawn from what the nights answer from."""
    return columns_of(nights, asked(rng, nights.base, design), asked(rng, nights.candidate, design))


def compared(answers: Answers, design: Design, *, seed: int, n_resamples: int) -> dict[str, Compared]:
    """Every measure of the pair by name: those of labels, and accuracy of label against gold with its spread."""
    rows = compare_answers(
        *answers,
        n_classes=design.n_labels + 1,
        level="nominal",
        numbers=np.arange(design.n_labels, dtype=np.float64),
        seed=seed,
        n_resamples=n_resamples,
    )
    n_codes = 2 * design.n_variants
    cell = (answers.side * design.n_samples + answers.sample) * n_codes + answers.variant
    keys, which = np.unique(cell, return_inverse=True)
    accuracy = np.bincount(which, weights=answers.label == answers.gold) / np.bincount(which)
    rest, variant = np.divmod(keys, n_codes)
    side, sample = np.divmod(rest, design.n_samples)
    rows += compare_accuracies(side, sample, variant, accuracy, seed=seed, n_resamples=n_resamples)
    return {row.measure: row for row in rows}


def q_values(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg over what has a p-value; NaN stays."""
    q = np.array(p_values, np.float64)
    tested = ~np.isnan(q)
    if tested.any():
        q[tested] = false_discovery_control(q[tested], method="bh")
    return q.tolist()


def is_worse(row: Compared, min_effect: float = MIN_EFFECT) -> bool:
    """Whether the difference points the bad way by `min_effect` or more."""
    sign = 1 if row.measure in WORSE_IS_UP else -1 if row.measure in WORSE_IS_DOWN else 0
    return sign * row.difference >= min_effect


def regressed(rows: Sequence[Compared]) -> set[str]:
    """Measures that regressed: q <= .05 over the pair's quality measures and the bad way by .02 or more."""
    quality = [row for row in rows if row.measure in WORSE_IS_UP | WORSE_IS_DOWN]
    q = q_values([row.p_value for row in quality])
    return {row.measure for row, value in zip(quality, q, strict=True) if is_worse(row) and value <= 0.05}


def plug_in_sensitivity(labels: Codes, n_classes: int) -> float:
    """Published sensitivity of labels (N, Q, asks), step by step: shares of each cell, their mean, its entropy."""
    counts = np.stack([(labels == c).sum(axis=2) for c in (*range(n_classes - 1), -1)], axis=2)
    p_tau = (counts / counts.sum(axis=2, keepdims=True)).mean(axis=1)
    terms = np.where(p_tau > 0, p_tau * np.log(np.where(p_tau > 0, p_tau, 1.0)), 0.0)
    return float(-terms.sum(axis=1).mean() / np.log(n_classes))


# ---------------------------------------------------------------- worlds
def same(rng: np.random.Generator, first: Effects) -> Effects:
    """Nothing differs but the draws of the answers."""
    del rng
    return first


def other_provider(rng: np.random.Generator, first: Effects) -> Effects:
    """Samples are answered otherwise, and no measure moves in expectation."""
    return first._replace(samples=mixed(rng, first.samples, 0.5), both=mixed(rng, first.both, 0.5))


def other_wordings(rng: np.random.Generator, first: Effects) -> Effects:
    """All wordings but the original are drawn anew."""
    wordings, both = mixed(rng, first.wordings, 0), mixed(rng, first.both, 0)
    wordings[0], both[:, 0] = first.wordings[0], first.both[:, 0]
    return first._replace(wordings=wordings, both=both)


def other_shocks(rng: np.random.Generator, first: Effects) -> Effects:
    """What a night adds to a wording, for all samples alike, is drawn anew."""
    return first._replace(shocks=mixed(rng, first.shocks, 0))


@dataclass(frozen=True)
class World:
    """How two nights are drawn; `candidate` where the second night has effects of other sizes."""

    second: Callable[[np.random.Generator, Effects], Effects]
    base: Model
    candidate: Model | None = None

    def nights(self, rng: np.random.Generator, first: Effects) -> Nights:
        """Both nights' probabilities from the first night's effects."""
        second = self.second(rng, first)
        shares = shares_of(first, self.base)
        is_same = second is first and self.candidate is None
        others = shares if is_same else shares_of(second, self.candidate or self.base)
        return Nights(shares, others, first.gold, self.second is not other_wordings)

    def pair(self, seed: int, design: Design) -> Answers:
        """The answers of pair number `seed`."""
        rng = np.random.default_rng(seed)
        return answers_of(rng, self.nights(rng, effects_of(rng, design)), design)


def compared_pair(seed: int, *, world: World, design: Design, n_resamples: int) -> dict[str, Compared]:
    """Every measure of pair number `seed` of a world."""
    return compared(world.pair(seed, design), design, seed=seed, n_resamples=n_resamples)


def true_difference(seed: int, *, world: World, design: Design, n_samples: int = 8000) -> float:
    """By how much sensitivity of pair `seed` differs for its own wordings and shocks, and all samples there could be.

    From many samples, with the same draws for both nights; for worlds where wordings stay and samples are answered alike.
    """
    rng = np.random.default_rng(seed)
    first = effects_of(rng, design)
    second = world.second(rng, first)
    many = replace(design, n_samples=n_samples)
    crowd = effects_of(np.random.default_rng([seed, 7]), many)
    base, candidate = (
        plug_in_sensitivity(
            asked(
                np.random.default_rng([seed, 8]),
                shares_of(crowd._replace(wordings=night.wordings, shocks=night.shocks), model),
                many,
            ),
            design.n_labels + 1,
        )
        for night, model in ((first, world.base), (second, world.candidate or world.base))
    )
    return candidate - base


MODEL = Model()
STEADY = Model(temperature=0.02)  # greedy but for near ties: one cell in a hundred flickers
SHOCKED = Model(shock_sd=0.5)

NOTHING_CHANGED = {
    "temperature_0": World(same, STEADY),
    "temperature_1": World(same, MODEL),
    "provider_swap": World(other_provider, MODEL),
    "wordings_anew": World(other_wordings, MODEL),
    "wording_shocks": World(other_shocks, SHOCKED),
}


def less_skilled(base: Model, difference: float, design: Design) -> Model:
    """The base model with a skill at which micro-F1 is lower by `difference`, in expectation over samples and wordings."""

    def mean_accuracy(model: Model) -> float:
        figures = []
        for seed in range(30):
            effects = effects_of(np.random.default_rng([seed, 3]), design)
            rows = np.arange(design.n_samples)
            figures.append(shares_of(effects, model)[rows, :, effects.gold].mean())
        return float(np.mean(figures))

    low, high = base.skill - 6, base.skill
    target = mean_accuracy(base) - difference
    for _ in range(16):
        middle = (low + high) / 2
        is_below = mean_accuracy(replace(base, skill=middle)) < target
        low, high = (middle, high) if is_below else (low, middle)
    return replace(base, skill=(low + high) / 2)


def detected(seed: int, *, world: World, design: Design, n_tests: int, n_resamples: int) -> bool:
    """Whether micro-F1 of pair `seed` differs by the smallest effect or more, at the level of one of so many tests."""
    row = compared_pair(seed, world=world, design=design, n_resamples=n_resamples)["micro_f1"]
    return bool(row.p_value <= 0.05 / n_tests and abs(row.difference) >= MIN_EFFECT)


def detectable(world: World, design: Design, n_tests: int, n_pairs: int = 40) -> float:
    """The median over quiet pairs of the difference of micro-F1 that each would have detected."""
    rows = [compared_pair(seed, world=world, design=design, n_resamples=400)["micro_f1"] for seed in range(n_pairs)]
    figures = [detectable_difference(row.standard_error, row.degrees_of_freedom, n_tests, MIN_EFFECT) for row in rows]
    return float(np.median(figures))


def model_with(base: Model, size: str, difference: float, design: Design) -> Model:
    """The base model with the effect `size` made so large that published sensitivity is higher by `difference`.

    The expectation is over samples and wordings, from 40 sets of wordings with the same draws for every size tried.
    """
    many = replace(design, n_samples=250)

    def mean_sensitivity(model: Model) -> float:
        figures = []
        for seed in range(40):
            effects = effects_of(np.random.default_rng([seed, 1]), many)
            labels = asked(np.random.default_rng([seed, 2]), shares_of(effects, model), many)
            figures.append(plug_in_sensitivity(labels, design.n_labels + 1))
        return float(np.mean(figures))

    low, high = getattr(base, size), 2.0 * getattr(base, size)
    target = mean_sensitivity(base) + difference
    for _ in range(14):
        middle = (low + high) / 2
        is_below = mean_sensitivity(replace(base, **{size: middle})) < target
        low, high = (middle, high) if is_below else (low, middle)
    return replace(base, **{size: (low + high) / 2})
