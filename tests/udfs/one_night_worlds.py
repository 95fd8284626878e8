"""One night of a simulated model whose consistency and shares of disagreement are known, for its wordings and for others.

The classifier is that of `comparison_worlds`; a world says what its wordings and its samples do beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from promptaudit.udfs.measures.answer_families import answer_families
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.measures.consistency_wordings import consistency_wordings
from promptaudit.udfs.measures.disagreement import disagreement_shares
from promptaudit.udfs.measures.sensitivity import SensitivityInterval, sensitivity_interval
from tests.udfs.comparison_worlds import MODEL, Codes, Design, Effects, Floats, Model, asked, shares_of

N_LABELS = 5
SHARES = ("wording", "noise", "item")


@dataclass(frozen=True)
class OneNight:
    """How a night is drawn.

    Attributes:
        model: sizes of the effects.
        broken: share of wordings under which 70 % of the answers are N/A.
        torn: share of samples that are not answered like the rest of their class.
        torn_by: how: `item`, always with another label; `wording`, with another under half of the wordings; `noise`, with
            another in half of the asks. Samples that are not torn are unanimous where any are; None leaves all to the model.
        family: wordings that are near-duplicates of each other, and have their effects in common but for a tenth.
    """

    model: Model = MODEL
    broken: float = 0.0
    torn: float = 0.0
    torn_by: str | None = None
    family: int = 1

    def wordings(self, rng: np.random.Generator, n_wordings: int) -> Wordings:
        """Draws wordings."""
        n_families = -(-n_wordings // self.family)
        shared = rng.standard_normal((n_families, N_LABELS + 1)).repeat(self.family, axis=0)[:n_wordings]
        own = rng.standard_normal((n_wordings, N_LABELS + 1))
        effect = own if self.family == 1 else 0.95 * shared + 0.31 * own
        return Wordings(effect, rng.random(n_wordings) < self.broken)

    def probabilities(self, rng: np.random.Generator, gold: Codes, wordings: Wordings) -> Floats:
        """Draws samples of these gold labels; probability of each class in each cell, (N, Q, C), N/A last."""
        n, q = len(gold), len(wordings.effect)
        if self.torn_by is not None:
            return self._torn(rng, gold, q)
        shape = (n, q, N_LABELS + 1)
        samples = rng.standard_normal((n, N_LABELS + 1))
        both = rng.standard_normal((n, -(-q // self.family), N_LABELS + 1)).repeat(self.family, axis=1)[:, :q]
        shares = shares_of(Effects(gold, samples, wordings.effect, both, np.zeros(shape[1:])), self.model)
        shares[:, wordings.is_broken] *= 0.3
        shares[:, wordings.is_broken, -1] += 0.7
        return shares

    def _torn(self, rng: np.random.Generator, gold: Codes, q: int) -> Floats:
        other = (gold + rng.integers(1, N_LABELS, len(gold))) % N_LABELS
        is_torn = (rng.random(len(gold)) < self.torn)[:, None]
        says_other = np.ones((len(gold), q))
        if self.torn_by == "wording":
            says_other = (rng.random((len(gold), q)) < 0.5).astype(float)
        elif self.torn_by == "noise":
            says_other /= 2
        share = (says_other * is_torn)[:, :, None]
        own_label, other_label = (np.eye(N_LABELS + 1)[labels][:, None] for labels in (gold, other))
        return np.asarray(share * other_label + (1 - share) * own_label)


class Wordings(NamedTuple):
    """Effects of wordings (Q, C), and which of them break the format."""

    effect: Floats
    is_broken: np.ndarray


SURE = replace(MODEL, skill=11.0)
WORLDS = {
    "usual": OneNight(),
    "uneven": OneNight(replace(MODEL, wording_sd=1.2)),
    "lexical": OneNight(replace(MODEL, wording_sd=3.0, sample_sd=0.5, both_sd=0.3)),
    "noise": OneNight(replace(MODEL, wording_sd=0.0, both_sd=0.0)),
    "broken": OneNight(broken=0.1),
    "families": OneNight(replace(MODEL, wording_sd=1.2), family=3),
    "sure": OneNight(SURE),  # mean sensitivity .003
    "torn_1": OneNight(torn=0.01, torn_by="item"),
    "torn_2": OneNight(torn=0.02, torn_by="item"),
    "split_1": OneNight(torn=0.01, torn_by="wording"),
    "coin_1": OneNight(torn=0.01, torn_by="noise"),
}

GOLDS = {"even": (0.2,) * 5, "one": (1.0,), "rare": (0.6, 0.3, 0.06, 0.03, 0.01)}
"""Shares of the gold classes; of `rare`, three have fewer than 20 samples at 200."""


def golds(kind: str, n_samples: int) -> Codes:
    """Gold labels, class by class."""
    sizes = np.maximum(1, np.round(np.array(GOLDS[kind]) * n_samples)).astype(int)
    sizes[0] += n_samples - sizes.sum()
    return np.repeat(np.arange(len(sizes)), sizes)


def counted(rng: np.random.Generator, probabilities: Floats) -> Codes:
    """How often each cell got each class, (N, Q, C): the original asked ten times, the others twice."""
    labels = asked(rng, probabilities, Design(*probabilities.shape[:2]))
    return np.stack([(labels == c).sum(axis=2) for c in (*range(N_LABELS), -1)], axis=2)


def _distances(p_tau: Floats, gold: Codes) -> Floats:
    """Mean distance between two samples of each class."""
    found = []
    for k in range(int(gold.max()) + 1):
        own = np.sort(p_tau[gold == k], axis=0)
        n = len(own)
        found.append(((2.0 * np.arange(1, n + 1) - n - 1) @ own).sum() / (n * (n - 1)))
    return np.array(found)


def true_consistency(
    rng: np.random.Generator, world: OneNight, wordings: Wordings, gold: Codes, n_each: int = 300
) -> float:
    """What `consistency` of samples of these classes is expected to be under these wordings, from n_each samples a class."""
    sizes = np.bincount(gold).astype(float)
    many = np.repeat(np.arange(len(sizes)), n_each)
    counts = counted(rng, world.probabilities(rng, many, wordings))
    distances = _distances((counts / counts.sum(axis=2, keepdims=True)).mean(axis=1), many)
    return float(1 - (sizes * (sizes - 1)) @ distances / (sizes**2).sum())


def true_shares(world: OneNight, n_wordings: int, n_nights: int = 60, n_samples: int = 400) -> Floats:
    """The shares of wording, noise and item of nights of so many wordings, from the probabilities of n_nights of them."""
    parts = []
    for seed in range(n_nights):
        rng = np.random.default_rng([seed, 11])
        p = world.probabilities(rng, golds("even", n_samples), world.wordings(rng, n_wordings))
        summed, squares = p.sum(axis=1), (p**2).sum(axis=2)
        p_tau = summed / n_wordings
        variant = 1 - ((summed**2).sum(axis=1) - squares.sum(axis=1)).mean() / (n_wordings * (n_wordings - 1))
        total = p_tau.sum(axis=0)
        sample = 1 - (total @ total - (p_tau**2).sum()) / (n_samples * (n_samples - 1))
        parts.append((1 - squares.mean(), variant, sample))
    d_repeat, d_variant, d_sample = np.mean(parts, axis=0)
    return np.array([d_variant - d_repeat, d_repeat, d_sample - d_variant]) / d_sample


class Bounds(NamedTuple):
    """Low and high of a figure for other samples, and for other wordings too."""

    low: float
    high: float
    wordings_low: float
    wordings_high: float


class NightOfConsistency(NamedTuple):
    """The bounds of one night and what they are about: the truth under its wordings."""

    bounds: Bounds
    truth: float


def night_of_consistency(
    seed: int, *, world: OneNight, kind: str, design: Design, n_resamples: int = 400
) -> NightOfConsistency:
    """The bounds of consistency in night number `seed`; families of wordings are the units of the jackknife over wordings."""
    rng = np.random.default_rng([seed, 12])
    gold, wordings = golds(kind, design.n_samples), world.wordings(rng, design.n_variants)
    counts = counted(rng, world.probabilities(rng, gold, wordings))
    p = counts / counts.sum(axis=2, keepdims=True)
    p_tau = p.mean(axis=1)
    sample, label = np.nonzero(p_tau)
    own = consistency(gold[sample], sample, label, p_tau[sample, label], seed, n_resamples)
    sample, variant, label = np.nonzero(p)
    unit = variant // world.family
    wide = consistency_wordings(gold[sample], sample, variant, unit, label, p[sample, variant, label])
    return NightOfConsistency(Bounds(own.low, own.high, *wide), true_consistency(rng, world, wordings, gold))


def night_of_shares(seed: int, *, world: OneNight, design: Design) -> Sequence[Bounds]:
    """The bounds of the three shares in night number `seed`, as of `night_of_consistency`."""
    rng = np.random.default_rng([seed, 13])
    gold = rng.integers(0, N_LABELS, design.n_samples)
    counts = counted(rng, world.probabilities(rng, gold, world.wordings(rng, design.n_variants)))
    sample, variant, label = np.nonzero(counts)
    n_answers = counts[sample, variant, label].astype(float)
    own = disagreement_shares(sample, variant, variant // world.family, label, n_answers)
    return [Bounds(*(getattr(own, f"{share}_share_{end}") for end in Bounds._fields)) for share in SHARES]


class JoinedNight(NamedTuple):
    """Intervals of sensitivity with each wording a unit of its own and with families by answers, and how many these are."""

    alone: SensitivityInterval
    joined: SensitivityInterval
    n_families: int
    n_effective: float


def joined_night(seed: int, *, world: OneNight, n: int, q: int) -> JoinedNight:
    """Returns a night's intervals of sensitivity, its wordings having no text in common."""
    rng = np.random.default_rng([seed, 5])
    counts = counted(rng, world.probabilities(rng, golds("even", n), world.wordings(rng, q))).astype(np.float64)
    sample, wording, label = np.nonzero(counts)
    found = answer_families(sample, wording, wording, label, counts[sample, wording, label])
    share = (counts / counts.sum(axis=2, keepdims=True))[sample, wording, label]
    family = np.unique(found.family, return_inverse=True)[1][wording]
    alone, joined = (
        sensitivity_interval(sample, wording, unit, label, share, counts.shape[2]) for unit in (None, family)
    )
    return JoinedNight(alone, joined, len(np.unique(found.family)), found.n_effective)
