"""Nights of classifiers whose sensitivity under endless wordings is known, one ask a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from promptaudit.udfs.measures.answer_families import answer_families
from promptaudit.udfs.measures.sensitivity import SensitivityInterval, sensitivity_interval

Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class World:
    """How answers are drawn.

    Attributes:
        n_classes: C, the last of them N/A.
        skill: how far the gold label's logit stands above the others'.
        by_sample: deviation of what samples add to the logits.
        by_wording: of what wordings add.
        by_both: of what pairs of them add.
        golds: shares of the gold labels; None for equal ones.
        is_certain: whether the likeliest label is given, as at temperature 0.
        breaking: chance that a wording breaks, so that all its answers are N/A.
        family: wordings that have their effects in common but for a tenth.
        torn: share of samples that have another label under two in five wordings; where it is given, the others are unanimous.
    """

    n_classes: int = 6
    skill: float = 3.0
    by_sample: float = 1.0
    by_wording: float = 0.6
    by_both: float = 0.6
    golds: tuple[float, ...] | None = None
    is_certain: bool = False
    breaking: float = 0.0
    family: int = 1
    torn: float | None = None

    def labels(self, rng: np.random.Generator, n: int, q: int) -> Codes:
        """Draws the answers of n samples under q wordings, shape (n, q)."""
        c, shares = self.n_classes, self.golds or (1 / (self.n_classes - 1),) * (self.n_classes - 1)
        gold = rng.choice(c - 1, n, p=shares)
        if self.torn is not None:
            is_other = (rng.random((n, 1)) < self.torn) & (rng.random((n, q)) < 0.4)
            labels = np.where(is_other, (gold[:, None] + 1) % (c - 1), gold[:, None])
        else:
            logits = self.skill * np.eye(c)[gold][:, None] + self.by_sample * rng.standard_normal((n, 1, c))
            logits = logits + self.by_wording * self._alike(rng, 1, q) + self.by_both * self._alike(rng, n, q)
            logits[..., -1] -= 3.0
            logits[..., :-1] += np.log(shares) / 2
            labels = (logits + (0 if self.is_certain else rng.gumbel(size=logits.shape))).argmax(axis=2)
        labels[:, rng.random(q) < self.breaking] = c - 1
        return np.asarray(labels, np.int64)

    def _alike(self, rng: np.random.Generator, n: int, q: int) -> NDArray[np.float64]:
        own = rng.standard_normal((n, q, self.n_classes))
        if self.family == 1:
            return own
        shared = rng.standard_normal((n, -(-q // self.family), self.n_classes)).repeat(self.family, axis=1)[:, :q]
        return np.asarray(0.95 * shared + 0.31 * own)

    def truth(self) -> float:
        """Returns the mean sensitivity of samples under endless wordings."""
        if self.torn is not None:
            b, torn = self.breaking, -(xlogy([0.4, 0.6], [0.4, 0.6])).sum()
            return float((-(xlogy(b, b) + xlogy(1 - b, 1 - b)) + (1 - b) * self.torn * torn) / np.log(self.n_classes))
        nights = [self.labels(np.random.default_rng([1, seed]), 400, 3000) for seed in range(6)]
        shares = np.array([[(night == c).mean(axis=1) for c in range(self.n_classes)] for night in nights])
        return float(-xlogy(shares, shares).sum(axis=1).mean() / np.log(self.n_classes))


WORLDS = {
    "mostly certain": World(skill=5),
    "uncertain": World(skill=1.5),
    "two labels": World(n_classes=3, skill=2.5),
    "temperature 0": World(skill=2.5, is_certain=True, by_wording=1, by_both=1),
    "unanimous but for 3 %": World(torn=0.03),
    "1 of 10 breaks": World(skill=6, breaking=0.1),
    "2 of 10 break": World(skill=6, breaking=0.2),
    "3 of 10 break": World(skill=6, breaking=0.3),
    "5 of 10 break": World(skill=6, breaking=0.5),
    "steady, 1 of 10 breaks": World(n_classes=3, torn=0, breaking=0.1),
    "families of 3": World(skill=2.5, family=3, by_wording=1.2, by_both=1),
    "rare classes": World(golds=(0.9, 0.06, 0.02, 0.01, 0.01)),
    "wordings alone": World(skill=2, by_wording=2, by_sample=0.5, by_both=0.3),
    "20 labels": World(n_classes=21, skill=3.5),
}
BREAKING = tuple(name for name, world in WORLDS.items() if world.breaking)


class Night(NamedTuple):
    """The intervals of one night, and whether any wording breaks."""

    found: SensitivityInterval
    is_broken: bool


def night_of(seed: int, *, name: str, n: int, q: int) -> Night:
    """Draws night number `seed`; wordings are of the families that their answers show."""
    world = WORLDS[name]
    labels = world.labels(np.random.default_rng([seed, n, q, 7]), n, q)
    sample, wording = (each.ravel() for each in np.indices(labels.shape))
    label, ones = np.unique(labels, return_inverse=True)[1].ravel(), np.ones(labels.size)
    family = np.unique(answer_families(sample, wording, wording, label, ones).family, return_inverse=True)[1]
    found = sensitivity_interval(sample, wording, family[wording], label, ones, world.n_classes)
    return Night(found, bool((labels == world.n_classes - 1).all(axis=0).any()))
