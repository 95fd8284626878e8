"""Least-squares fits of tables with missing cells, against regression on dummies and known noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from promptaudit.udfs.two_way_fit import TwoWayFit, two_way_fit


def table(seed: int, n: int, q: int, share: float) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Cells of a table with gaps: every sample and every wording has one at least."""
    rng = np.random.default_rng(seed)
    kept = rng.random((n, q)) < share
    kept[np.arange(n), rng.integers(0, q, n)] = True
    kept[rng.integers(0, n, q), np.arange(q)] = True
    sample, wording = np.nonzero(kept)
    return sample, wording, rng.random(len(sample))


def dummies(sample: NDArray[np.int64], wording: NDArray[np.int64]) -> NDArray[np.float64]:
    """One column a sample, one a wording."""
    return np.hstack([np.eye(sample.max() + 1)[sample], np.eye(wording.max() + 1)[wording]])


@given(st.integers(0, 10_000), st.integers(2, 14), st.integers(2, 8), st.sampled_from([0.2, 0.5, 0.9, 1.0]))
@settings(max_examples=80)
def test_fit_is_the_regression_on_samples_and_wordings(seed: int, n: int, q: int, share: float) -> None:
    sample, wording, value = table(seed, n, q, share)
    columns = dummies(sample, wording)
    fitted, _, rank, _ = np.linalg.lstsq(columns, value, rcond=None)
    fit = two_way_fit(sample, wording, value)
    residual = value - columns @ fitted
    assert fit.degrees_of_freedom == len(value) - rank
    assert fit.mean_square * fit.degrees_of_freedom == pytest.approx(
        residual @ residual if fit.degrees_of_freedom else 0
    )
    assert fit.is_connected == (rank == n + q - 1)
    assert fit.by_sample[sample] + fit.effects[wording] == pytest.approx(columns @ fitted)
    if fit.is_connected:
        assert fit.by_sample == pytest.approx(fitted[:n] + fitted[n:].mean())
        assert fit.effects == pytest.approx(fitted[n:] - fitted[n:].mean(), abs=1e-9)


@given(st.integers(0, 10_000), st.integers(3, 14), st.integers(2, 8))
@settings(max_examples=40)
def test_noise_is_the_covariance_of_the_regression(seed: int, n: int, q: int) -> None:
    sample, wording, value = table(seed, n, q, 0.7)
    fit = two_way_fit(sample, wording, value)
    if not fit.is_determined:
        return
    covariance = np.linalg.pinv(dummies(sample, wording).T @ dummies(sample, wording))
    centred = [np.eye(size) - 1 / size for size in (n, q)]
    by_sample, effects = (
        np.trace(centre @ part @ centre) / (len(centre) - 1) * fit.mean_square
        for centre, part in zip(centred, (covariance[:n, :n], covariance[n:, n:]), strict=True)
    )
    assert fit.effect_noise == pytest.approx(effects)
    assert fit.effect_variance == pytest.approx(fit.effects.var(ddof=1) - effects)
    assert fit.sample_variance == pytest.approx(fit.by_sample.var(ddof=1) - by_sample)


def test_three_templates_by_hand() -> None:
    # samples' means 2/3, 1/3, 1, 1/3; templates 1/6, 1/6 and -1/3 from 7/12; residual 16/12 over 3 x 2
    questions = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)
    fit = two_way_fit(*np.indices((4, 3)).reshape(2, -1), questions.ravel())
    assert fit.by_sample == pytest.approx([2 / 3, 1 / 3, 1, 1 / 3])
    assert fit.effects == pytest.approx([1 / 6, 1 / 6, -1 / 3])
    assert (fit.mean, fit.mean_square) == (pytest.approx(7 / 12), pytest.approx(2 / 9))
    assert fit.effect_noise == pytest.approx(2 / 9 / 4)
    assert fit.sample_variance == pytest.approx(11 / 108 - 2 / 9 / 3)


def test_a_balanced_incomplete_grid_is_as_efficient_as_its_design() -> None:
    # all 10 pairs of 5 wordings: efficiency (1 - 1/2) / (1 - 1/5) = 5/8
    pairs = np.transpose(np.triu_indices(5, 1))
    fit = two_way_fit(np.repeat(np.arange(10), 2), pairs.ravel(), np.random.default_rng(0).random(20))
    assert fit.effect_inflation == pytest.approx(8 / 5)


@pytest.mark.parametrize("wordings_per_sample", [1, 2])
def test_parts_that_share_no_sample_are_fitted_apart(wordings_per_sample: int) -> None:
    sample = np.repeat(np.arange(6), wordings_per_sample)
    wording = (np.arange(6 * wordings_per_sample) % wordings_per_sample) + (sample >= 3) * wordings_per_sample
    fit = two_way_fit(sample, wording, sample + wording / 10.0)
    assert not fit.is_connected
    assert fit.mean == pytest.approx(np.mean(sample + wording / 10))
    half = [-0.05, 0.05] if wordings_per_sample == 2 else [0.0]
    assert fit.effects == pytest.approx(half + half)


def test_one_sample_or_one_wording_is_fitted_by_its_own_values() -> None:
    def fit(*shape: int) -> TwoWayFit:
        return two_way_fit(*np.indices(shape).reshape(2, -1), np.arange(3.0))

    assert fit(3, 1).by_sample == pytest.approx([0, 1, 2])
    assert np.isnan(fit(3, 1).effect_variance)
    assert fit(1, 3).effects == pytest.approx([-1, 0, 1])
    assert np.isnan(fit(1, 3).sample_variance)
