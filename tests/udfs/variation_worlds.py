"""Simulated answers of one model whose kinds of variation move them as they are told to, and the kinds' true effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from udfs.measures.variation_effects import Variation, VariationEffect, variation_effects

N_LABELS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A model as a softmax over three labels, logits of sd 2 a sample, which each variant of a kind shifts.

    Attributes:
        strengths: of each kind the sd of the shifts of a (sample, variant, label); 0 moves nothing.
        uneven: sd of the logarithm of a variant's own strength: 0 where all variants of a kind move answers alike.
        temperature: of the answers; 0 gives the likeliest label.
    """

    strengths: Sequence[float]
    uneven: float = 0.0
    temperature: float = 0.0

    def run(self, rng: np.random.Generator, n_samples: int, n_variants: int) -> list[VariationEffect]:
        """Returns what two asks of a one-at-a-time design give, of n_variants a kind, the original among them."""
        base = rng.normal(0, 2, (n_samples, 1, N_LABELS))
        others = n_variants - 1
        strength = np.repeat(np.array(self.strengths, np.float64), others) * np.exp(
            self.uneven * rng.normal(size=len(self.strengths) * others)
        )
        shifts = strength[:, None] * rng.normal(size=(n_samples, len(strength), N_LABELS))
        logits = np.concatenate([base, base + shifts], axis=1)
        counts = self._asked(rng, logits)
        sample, variant, label = np.nonzero(counts)
        kinds = [
            Variation(
                kind=kind,
                variant=np.append(0, 1 + kind * others + np.arange(others)),
                line=np.zeros(n_variants, np.int64),
                value=np.arange(n_variants),
                unit=np.arange(n_variants) - 1,
            )
            for kind in range(len(self.strengths))
        ]
        return variation_effects(sample, variant, label, counts[sample, variant, label], np.ones(len(sample)), kinds)

    def _asked(self, rng: np.random.Generator, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often each label was given in two asks."""
        if not self.temperature:
            return 2.0 * np.eye(N_LABELS)[logits.argmax(axis=2)]
        weights = np.exp((logits - logits.max(axis=2, keepdims=True)) / self.temperature)
        return rng.multinomial(2, weights / weights.sum(axis=2, keepdims=True)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Rates:
    """What many runs of a world gave, of each kind."""

    effect: NDArray[np.float64]
    covered: NDArray[np.float64]
    width: NDArray[np.float64]
    named: NDArray[np.float64]
    told: NDArray[np.float64]


def rates(world: World, n_samples: int, n_variants: int, n_runs: int, seed: int = 0) -> Rates:
    """Returns how often bounds hold the mean of the estimates, which are unbiased, and how often a kind is named."""
    runs = [world.run(np.random.default_rng([seed, run]), n_samples, n_variants) for run in range(n_runs)]
    effect, low, high = (
        np.array([[getattr(row, name) for row in rows] for rows in runs])
        for name in ("effect", "effect_low", "effect_high")
    )
    verdict = np.array([[row.verdict for row in rows] for rows in runs])
    true = effect.mean(axis=0)
    return Rates(
        effect=true,
        covered=((low <= true) & (true <= high)).mean(axis=0),
        width=(high - low).mean(axis=0),
        named=(verdict == "moves_most").mean(axis=0),
        told=np.isin(verdict, ("moves_most", "moves")).mean(axis=0),
    )
