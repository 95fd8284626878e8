"""Simulated answers of one model whose kinds of variation move them as they are told to, and the kinds' true effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.variation_effects import VariationEffect, variation_effects
from promptaudit.udfs.measures.variation_kind import Variation


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A model as a softmax over labels, logits of sd 2 a sample, which each variant of a kind shifts.

    Attributes:
        strengths: of each kind the sd of the shifts of a (sample, variant, label); 0 moves nothing.
        uneven: sd of the logarithm of a variant's own strength: 0 where all variants of a kind move answers alike.
        shared: correlation of a variant's shifts between samples: 1 where it moves all samples alike.
        breaking: probability of a variant of a kind that moves to be answered with N/A always.
        n_labels: labels without N/A.
        lean: what is added to the logit of the first label.
        temperature: of the answers; 0 gives the likeliest label.
        is_kept: whether the provider keeps answers: the second ask of a cell is answered like the first.
    """

    strengths: Sequence[float]
    uneven: float = 0.0
    shared: float = 0.0
    breaking: float = 0.0
    n_labels: int = 3
    lean: float = 0.0
    temperature: float = 0.0
    is_kept: bool = False

    def run(self, rng: np.random.Generator, n_samples: int, n_variants: int | Sequence[int]) -> list[VariationEffect]:
        """Returns what two asks of a one-at-a-time design give, of n_variants a kind, the original among them."""
        sizes = [n_variants] * len(self.strengths) if isinstance(n_variants, int) else list(n_variants)
        others = np.array(sizes) - 1
        base = rng.normal(0, 2, (n_samples, 1, self.n_labels))
        base[:, :, 0] += self.lean
        strength = np.repeat(np.array(self.strengths, np.float64), others) * np.exp(
            self.uneven * rng.normal(size=others.sum())
        )
        own = rng.normal(size=(n_samples, len(strength), self.n_labels))
        of_all = rng.normal(size=(1, len(strength), self.n_labels))
        shifts = strength[:, None] * (np.sqrt(1 - self.shared) * own + np.sqrt(self.shared) * of_all)
        logits = np.concatenate([base, base + shifts], axis=1)
        is_broken = (rng.random(len(strength)) < self.breaking) & (strength > 0)
        counts = self._asked(rng, logits, np.append(False, is_broken))
        sample, variant, label = np.nonzero(counts)
        kinds = [
            Variation(
                kind=kind,
                variant=np.append(0, 1 + others[:kind].sum() + np.arange(others[kind])),
                line=np.zeros(size, np.int64),
                value=np.arange(size),
                unit=np.arange(size) - 1,
            )
            for kind, size in enumerate(sizes)
        ]
        return variation_effects(sample, variant, label, counts[sample, variant, label], np.ones(len(sample)), kinds)

    def _asked(
        self, rng: np.random.Generator, logits: NDArray[np.float64], is_broken: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """How often each label was given in two asks, N/A the last."""
        if self.temperature:
            weights = np.exp((logits - logits.max(axis=2, keepdims=True)) / self.temperature)
            n_drawn = 1 if self.is_kept else 2
            counts = 2 / n_drawn * rng.multinomial(n_drawn, weights / weights.sum(axis=2, keepdims=True))
        else:
            counts = 2.0 * np.eye(self.n_labels)[logits.argmax(axis=2)]
        counts = np.concatenate([counts, np.zeros((*counts.shape[:2], 1))], axis=2)
        counts[:, is_broken] = 2.0 * np.eye(self.n_labels + 1)[-1]
        return counts


@dataclass(frozen=True, slots=True)
class Rates:
    """What many runs of a world gave, of each kind."""

    effect: NDArray[np.float64]
    covered: NDArray[np.float64]
    width: NDArray[np.float64]
    named: NDArray[np.float64]
    moving: NDArray[np.float64]


def rates(world: World, n_samples: int, n_variants: int | Sequence[int], n_runs: int, seed: int = 0) -> Rates:
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
        moving=np.isin(verdict, ("moves_most", "moves")).mean(axis=0),
    )
