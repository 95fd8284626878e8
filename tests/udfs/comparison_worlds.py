"""Two nights of a simulated model, drawn so that what differs between them is known.

A softmax classifier answers from effects of the sample, of the wording and of the two together; a world says which of
them the second night keeps, draws anew or scales. Answers are drawn independently in every cell, as the `simulated`
annotator draws them, and come out as the columns of `promptaudit.udfs.differences.answers.paired_values`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.accuracies import paired_accuracies
from promptaudit.udfs.differences.alike_nights import night_spread, unit_values
from promptaudit.udfs.differences.answers import paired_values
from promptaudit.udfs.differences.detectable import detectable_difference
from promptaudit.udfs.differences.pairs import AlikeNights, Compared, compare_churn, compare_values
from promptaudit.udfs.differences.values import Values
from promptaudit.udfs.differences.verdict import adjusted, difference_verdict

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

WORSE_IS_DOWN = frozenset({"consistency", "micro_f1", "pss_intra", "pss_inter", "accuracy"})
WORSE_IS_UP = frozenset({"sensitivity", "invalid_rate", "accuracy_std"})
RATES = frozenset({"micro_f1", "accuracy", "invalid_rate"})
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
    """Columns of `paired_values`, in its order."""

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


def values_of(answers: Answers, design: Design, *, are_drawn: bool = False) -> dict[str, Values]:
    """What samples add to every measure of the pair, by name: those of labels, and accuracy with its spread."""
    rows = paired_values(*answers, [str(label) for label in range(design.n_labels)], "nominal", are_drawn=are_drawn)
    n_codes = 2 * design.n_variants
    cell = (answers.side * design.n_samples + answers.sample) * n_codes + answers.variant
    keys, which = np.unique(cell, return_inverse=True)
    accuracy = np.bincount(which, weights=answers.label == answers.gold) / np.bincount(which)
    rest, variant = np.divmod(keys, n_codes)
    side, sample = np.divmod(rest, design.n_samples)
    rows += paired_accuracies(side, sample, variant, accuracy, are_drawn)
    return {row.measure: row for row in rows}


class Judged(NamedTuple):
    """What a comparison says of one measure."""

    compared: Compared
    verdict: str


def judged(found: dict[str, tuple[Values, Compared]], *, is_unconfirmed: bool = False) -> dict[str, Judged]:
    """The verdicts of a comparison on its measures, all of them adjusted for each other."""
    q = adjusted(np.array([row.p_value for _, row in found.values()]))
    return {
        name: Judged(
            row,
            "not_comparable"
            if np.isnan(row.p_value)
            else difference_verdict(
                row.difference,
                row.low,
                row.high,
                own,
                MIN_EFFECT,
                1 if name in WORSE_IS_UP else -1 if name in WORSE_IS_DOWN else 0,
                is_unconfirmed,
                name == "label_churn",
            ),
        )
        for (name, (_, row)), own in zip(found.items(), q.tolist(), strict=True)
    }


def compared_side_by_side(answers: Answers, design: Design, *, of_two_models: bool = False) -> dict[str, Judged]:
    """Verdicts on two sides asked on one night: of two models, or of wordings that were changed."""
    found: dict[str, tuple[Values, Compared]] = {}
    for name, row in values_of(answers, design, are_drawn=of_two_models).items():
        if row.reason is not None or name == "label_churn" or not row.sample:
            continue
        found[name] = row, _compared(row, AlikeNights(), are_kept=not (of_two_models or row.is_redrawn), ages=None)
    return judged(found)


def _compared(row: Values, nights: AlikeNights, *, are_kept: bool, ages: tuple[int, int] | None) -> Compared:
    return compare_values(
        np.array(row.sample),
        None,
        np.array([row.in_base, row.in_candidate]),
        row.n_wordings,
        nights,
        wordings=row.wordings,
        is_rate=row.measure in RATES,
        are_kept=are_kept,
        are_apart=ages is not None,
        ages=ages or (0, 0),
    )


def compared_nights(
    nights: list[Answers], design: Design, *, base: int, n_known: int | None = None
) -> dict[str, Judged]:
    """Verdicts on the last night against an earlier one, of nights that are all normal but the last.

    Args:
        nights: pairs of answers of one night with itself, the oldest first.
        design: how much each asked.
        base: how many nights before the last the base is.
        n_known: normal nights that are known; None for all.
    """
    labels = [columns_at(night, 0) for night in nights]
    each = [values_of(night, design) for night in nights]
    normal = range(len(nights) - 1) if n_known is None else range(len(nights) - 1 - n_known, len(nights) - 1)
    last = len(nights) - 1
    found: dict[str, tuple[Values, Compared]] = {}
    for name, row in values_of(joined(labels[last - base], labels[last]), design).items():
        if row.reason is not None or not row.sample:
            continue
        if name == "label_churn":
            pairs = [(one, other) for one in normal for other in normal if one < other]
            shares = [shares_said(night, design) for night in labels]
            apart = [1 - (shares[one] * shares[other]).sum(axis=2).mean(axis=1) for one, other in pairs]
            lags = np.array([other - one for one, other in pairs], np.int64)
            within = np.array(row.in_base)
            of_pairs = np.array(apart) if apart else np.empty((0, len(row.sample)))
            found[name] = (
                row,
                compare_churn(None, within, np.array(row.in_candidate), row.n_wordings, base, of_pairs, lags),
            )
            continue
        values = np.array([each[night][name].in_base for night in normal])
        ages = np.array([last - night for night in normal])
        spread = night_spread(unit_values(values, None), ages) if len(normal) > 2 else AlikeNights().spread
        n = len(row.sample)
        alike = AlikeNights(ages.repeat(n).tolist(), row.sample * len(normal), values.ravel().tolist(), spread, spread)
        found[name] = row, _compared(row, alike, are_kept=True, ages=(base, 0))
    return judged(found, is_unconfirmed=len(normal) < 3)


def shares_said(answers: Answers, design: Design) -> Floats:
    """The share of each label in each cell of one night, (N, Q, C), N/A first."""
    counts = np.zeros((design.n_samples, design.n_variants, design.n_labels + 1))
    np.add.at(counts, (answers.sample, answers.variant, answers.label + 1), 1)
    return np.asarray(counts / counts.sum(axis=2, keepdims=True))


def columns_at(answers: Answers, side: int) -> Answers:
    """One side of two."""
    return Answers(*(column[answers.side == side] for column in answers))


def joined(base: Answers, candidate: Answers) -> Answers:
    """Two sides as base and candidate."""
    sides = base._replace(side=0 * base.side), candidate._replace(side=0 * candidate.side + 1)
    return Answers(*(np.concatenate(columns) for columns in zip(*sides, strict=True)))


def regressed(rows: dict[str, Judged]) -> set[str]:
    """Measures that regressed."""
    return {name for name, row in rows.items() if row.verdict == "regressed"}


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


def compared_pair(
    seed: int, *, world: World, design: Design, n_nights: int = 8, base: int = 1, usual: World | None = None
) -> dict[str, Judged]:
    """Every measure of night `seed` of a world against one of its normal nights; of other wordings side by side.

    Normal nights are of `usual`, which is the world without what its candidate has of its own.
    """
    rng = np.random.default_rng(seed)
    first = effects_of(rng, design)
    if world.second is other_wordings:
        return compared_side_by_side(answers_of(rng, world.nights(rng, first), design), design)
    quiet = usual or replace(world, candidate=None)
    nights = []
    for night in range(n_nights + 1):
        own = (world if night == n_nights else quiet).nights(rng, first)
        labels = asked(rng, own.candidate, design)
        nights.append(columns_of(own, labels, labels))
    return compared_nights(nights, design, base=base)


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


def detected(seed: int, *, world: World, design: Design, n_tests: int) -> bool:
    """Whether micro-F1 of pair `seed` differs by the smallest effect or more, at the level of one of so many tests."""
    row = compared_pair(seed, world=world, design=design)["micro_f1"].compared
    return bool(row.p_value <= 0.05 / n_tests and abs(row.difference) >= MIN_EFFECT)


def detectable(world: World, design: Design, n_tests: int, n_pairs: int = 40) -> float:
    """The median over quiet pairs of the difference of micro-F1 that each would have detected."""
    rows = [compared_pair(seed, world=world, design=design)["micro_f1"].compared for seed in range(n_pairs)]
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
