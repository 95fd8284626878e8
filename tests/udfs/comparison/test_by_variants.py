"""The test over variants: exchanges, the early stop, few variants, and what wordings drawn anew add."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp, ttest_ind

from promptaudit.udfs.comparison import by_variants
from promptaudit.udfs.comparison.by_variants import ByVariants
from promptaudit.udfs.comparison.rates import Rates

SHARED = -1


def outcome_of(
    base: NDArray[np.float64],
    candidate: NDArray[np.float64],
    *,
    p_samples: float = 0.001,
    stratum: int = SHARED,
    n_resamples: int = 4000,
) -> ByVariants:
    """Mean over variants x samples of either run."""
    value = np.concatenate([base, candidate])
    rates = Rates(("accuracy",), value, np.ones(value.shape, np.bool_))
    first, second = rates.resampled(np.ones((1, base.shape[1])))
    strata = np.full(len(base), stratum)
    return by_variants.by_variants(rates, strata, (second - first)[:, 0], np.array([p_samples]), 5, n_resamples)


def test_twelve_shared_variants_against_every_exchange() -> None:
    rng = np.random.default_rng(1)
    base, change = rng.random((12, 3)), rng.normal(0.15, 0.2, 12)
    found = outcome_of(base, base + change[:, None], n_resamples=20_000)
    every = np.abs(np.array(list(product((-1, 1), repeat=12))) @ change)
    exact = np.mean(every >= abs(change.sum()) - 1e-12)
    assert 0.001 < exact < 0.15
    # four binomial deviations
    assert found.p_value[0] == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000))
    # the error of the mean of twelve changes, however large that mean is
    assert found.standard_error[0] == pytest.approx(np.sqrt(change.var(ddof=1) / 12), rel=0.1)
    assert found.variance[0] == 0


@pytest.mark.parametrize(("p_samples", "shift", "n_draws"), [(0.001, 0.2, 4001), (0.5, 0.2, 1000), (0.001, 0.0, 1000)])
def test_exchanges_stop_where_noise_is_clear(p_samples: float, shift: float, n_draws: int) -> None:
    rng = np.random.default_rng(1)
    base = rng.random((14, 3))
    candidate = base + shift + rng.normal(0, 0.05, (14, 1)) - (0 if shift else rng.normal(0, 0.05, (14, 1)))
    p_value = outcome_of(base, candidate, p_samples=p_samples).p_value[0]
    if shift:  # no exchange reaches a change of every variant, and t says how far beyond them it is
        change = (candidate - base).mean(axis=1)
        assert p_value == pytest.approx(ttest_1samp(change, 0).pvalue)
    else:
        assert p_value * n_draws == pytest.approx(round(p_value * n_draws))


def test_under_twelve_shared_variants_the_jackknife_gives_t() -> None:
    base = np.zeros((3, 2))
    candidate = base + np.array([[0.1], [0.2], [0.3]])
    found = outcome_of(base, candidate)
    # mean .2, deviation .1, error .1 / sqrt 3; t = 3.4641 on 2 degrees has the tail (1 - t / sqrt(2 + t^2)) / 2
    t = 0.2 / (0.1 / np.sqrt(3))
    assert found.standard_error[0] == pytest.approx(0.1 / np.sqrt(3))
    assert found.p_value[0] == pytest.approx(1 - t / np.sqrt(2 + t**2))


def test_other_wordings_add_what_is_theirs_alone() -> None:
    rng = np.random.default_rng(2)
    n_variants, n_samples, spread = 40, 400, 0.3
    runs = rng.normal(0, spread, (2, n_variants, 1)) + rng.normal(0, 1, (2, n_variants, n_samples))
    found = outcome_of(*runs, stratum=0)
    # spread^2 / 40 of either run; what differs by sample (1 / 16,000 of either) is left out. 78 degrees: 16 % deviation
    assert found.variance[0] == pytest.approx(2 * spread**2 / n_variants, rel=0.5)
    noise = outcome_of(*rng.normal(0, 1, (2, n_variants, n_samples)), stratum=0)
    # of nothing there is at most chance: the covariance of two halves around 0
    assert noise.variance[0] < 2 / (n_variants * n_samples)


def test_a_collapse_under_other_wordings_has_the_p_of_two_samples() -> None:
    rng = np.random.default_rng(3)
    base, candidate = rng.normal(0.63, 0.05, (12, 5)), rng.normal(0.06, 0.05, (12, 5))
    p_value = outcome_of(base, candidate, stratum=0).p_value[0]
    assert p_value == pytest.approx(ttest_ind(base.mean(axis=1), candidate.mean(axis=1)).pvalue, rel=1e-6)
    assert p_value < 1e-15


def test_ties_keep_the_p_of_exchanges() -> None:
    base = np.zeros((14, 3))
    candidate = base + (np.arange(14) < 4)[:, None]  # four variants move alike: 2 x 2^-4, where t says .04
    assert outcome_of(base, candidate).p_value[0] == pytest.approx(0.125, abs=0.02)


def test_one_variant_or_no_draw_shows_nothing() -> None:
    one = np.zeros((1, 3))
    assert np.isnan(outcome_of(one, one + 1).p_value[0])
    assert np.isnan(outcome_of(np.zeros((14, 3)), np.ones((14, 3)), n_resamples=0).p_value[0])
