"""Worlds of rare errors: each answer is wrong with a chance whose logit is a sum of its sample's and its wording's part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from promptaudit.udfs.two_way import TwoWayMean, two_way_interval

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


class RateWorld(NamedTuple):
    """Standard deviations, on the logit, of what samples and wordings do."""

    samples: float
    wordings: float

    def answers(self, seed: int, n: int, q: int, rate: float) -> NDArray[np.float64]:
        """Returns which answers are wrong, shape (n, q), of samples and wordings whose mean chance is the rate."""
        rng, spread = np.random.default_rng([seed, n]), float(np.hypot(*self))
        # the mean over normal parts, by quadrature
        level = brentq(lambda at: _WEIGHTS @ expit(at + spread * _NODES) / _WEIGHTS.sum() - rate, -40, 10)
        logits = level + self.samples * rng.normal(size=(n, 1)) + self.wordings * rng.normal(size=(1, q))
        return rng.binomial(1, expit(logits)).astype(np.float64)


RATE_WORLDS = {
    "alike": RateWorld(0, 0),
    "by samples": RateWorld(2, 0),
    "by wordings": RateWorld(0, 1),
    "by both": RateWorld(1.5, 1),
    "heavy": RateWorld(3, 1.5),
}
RATES = (0.002, 0.01, 0.05)


def bounded_rate(seed: int, *, world: RateWorld, n: int, q: int, rate: float) -> TwoWayMean:
    """Returns the rate of one night of a world with its bounds."""
    value = world.answers(seed, n, q, rate)
    sample, wording = np.indices(value.shape).reshape(2, -1)
    return two_way_interval(sample, wording, value.ravel())
