"""Spread over templates by hand, against a plain loop, and how often its bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from promptaudit.udfs import resampling
from promptaudit.udfs.resampling import generator, weights
from promptaudit.udfs.templates.spread import Spread, bootstrap_variances, spread
from promptaudit.udfs.two_way import two_way_variance

Table = NDArray[np.float64]

# questions x templates; accuracies .75, .75 and .25
QUESTIONS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)


def spread_of(table: Table, seed: int = 1, n_resamples: int = 0) -> Spread:
    """Of questions x templates, NaN a missing cell."""
    sample, variant = np.nonzero(~np.isnan(table))
    return spread(sample, variant, table[sample, variant], seed, n_resamples)


def mean_square(table: Table) -> float:
    n, q = table.shape
    residual = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    return float(np.square(residual).sum() / ((n - 1) * (q - 1)))


def answers(rng: np.random.Generator, n: int, n_variants: int, sigma: float) -> Table:
    """Right and wrong answers to n questions under templates whose true accuracies deviate by sigma (ddof 1).

    Templates share four of five lucky draws of a question, as a model's answers to one question do.
    """
    effect = np.linspace(-1, 1, n_variants)
    effect *= sigma / effect.std(ddof=1)
    luck = np.where(rng.random((n, n_variants)) < 0.8, rng.random((n, 1)), rng.random((n, n_variants)))
    return np.asarray(luck < rng.uniform(0.2, 0.8, (n, 1)) + effect, np.float64)


def test_three_templates_by_hand() -> None:
    # accuracies .75, .75, .25 deviate from .583333 by .166667, .166667, -.333333: sum of squares .166667
    figure = spread_of(QUESTIONS)
    assert figure.mean == pytest.approx(1.75 / 3)
    assert figure.std == pytest.approx(np.sqrt(0.166667 / 3), abs=1e-6)
    assert figure.std_sample == pytest.approx(np.sqrt(0.083333), abs=1e-6)
    assert figure.range == pytest.approx(0.5)
    # SS 35/12 in all, questions 11/12, templates 8/12: residual 16/12 over 3 x 2 is .222222; .083333 - .222222/4
    assert mean_square(QUESTIONS) == pytest.approx((35 - 11 - 8) / 12 / 6)
    assert figure.std_corrected == pytest.approx(np.sqrt(0.027778), abs=1e-5)
    assert figure[-3:] == (3, 4, 4)


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(2, 8))
@settings(max_examples=40)
def test_correction_is_that_of_two_way_analysis(seed: int, n: int, n_variants: int) -> None:
    table = np.random.default_rng(seed).integers(0, 4, (n, n_variants)) / 3
    sample, variant = np.indices(table.shape).reshape(2, -1)
    parts = two_way_variance(sample, variant, table.ravel())
    # V_variants is the variance over Q, V_both the mean square over n Q
    expected = n_variants * (parts.variants - parts.both)
    assert spread_of(table).std_corrected == pytest.approx(np.sqrt(max(0, expected)), abs=1e-7)


def test_resamples_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    tables = [answers(rng, 25, 6, 0.1), answers(rng, 25, 6, 0.0)]
    whole = bootstrap_variances(tables, 9, 50)
    drawn = weights(generator(9, 5), 25, 50).astype(int)
    for table, figures in zip(tables, whole, strict=True):
        for b in range(50):
            again = np.repeat(table, drawn[:, b], axis=0)
            expected = again.mean(axis=0).var(ddof=1) - 2 * mean_square(again) / 25
            assert figures[b] == pytest.approx(expected, abs=1e-12)
    assert spread_of(tables[0], 9, 50).variance_corrected_low == pytest.approx(np.percentile(whole[0], 2.5))
    monkeypatch.setattr(resampling, "_CHUNK_CELLS", 31 * 7)  # seven resamples at a time
    assert np.array(bootstrap_variances(tables, 9, 50)) == pytest.approx(np.array(whole), abs=1e-15)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_names_and_order_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = answers(rng, 20, 5, 0.1)
    table[rng.random(table.shape) < 0.05] = np.nan
    shuffled = table[rng.permutation(20)][:, rng.permutation(5)]
    assert spread_of(shuffled) == pytest.approx(spread_of(table), abs=1e-9, nan_ok=True)
    same_questions = spread_of(table[:, rng.permutation(5)], 1, 30)
    assert same_questions == pytest.approx(spread_of(table, 1, 30), abs=1e-9, nan_ok=True)


def test_accuracy_counts_every_cell_and_the_correction_complete_questions() -> None:
    extra = np.array([[1, np.nan, 0], [np.nan, np.nan, 1]])
    figure = spread_of(np.concatenate([QUESTIONS, extra]), 1, 100)
    # accuracies 4/5, 3/4, 2/6
    assert figure.mean == pytest.approx((4 / 5 + 3 / 4 + 2 / 6) / 3)
    assert figure.range == pytest.approx(4 / 5 - 2 / 6)
    assert (figure.n_samples, figure.n_samples_complete) == (6, 4)
    assert figure[4:8] == spread_of(QUESTIONS, 1, 100)[4:8]


def test_a_variance_below_luck_is_floored_where_it_is_a_deviation_alone() -> None:
    # all templates have accuracy .5, and nothing but luck within: sigma^2 = 0 - MS/4 < 0
    figure = spread_of(np.array([[1, 0], [0, 1], [1, 0], [0, 1]], float), 1, 200)
    assert (figure.std, figure.std_corrected, figure.std_corrected_low) == (0, 0, 0)
    assert figure.variance_corrected_low < 0


def test_templates_that_change_no_answer() -> None:
    # the mean of ten times .3 is not .3 to the last bit: without care 5e-17 of spread, and a lower bound above 0
    assert np.mean(np.full(10, 0.3)) != 0.3
    figure = spread_of(np.repeat(np.arange(30) % 10 / 10, 10).reshape(30, 10), 1, 50)
    assert figure[4:8] == (0, 0, 0, 0)
    assert figure.std == pytest.approx(0, abs=1e-12)


def test_edges() -> None:
    one_template = spread_of(QUESTIONS[:, :1], 1, 20)
    assert (one_template.mean, one_template.std, one_template.range) == (0.75, 0, 0)
    assert np.isnan(one_template[4:8]).all()
    assert np.isnan(one_template.std_sample)
    one_complete = spread_of(np.array([[1, 0], [np.nan, 1]]), 1, 20)
    assert (one_complete.std, one_complete.n_samples_complete) == (0.25, 1)  # accuracies 1 and .5
    assert np.isnan(one_complete[4:8]).all()
    undrawn = spread_of(QUESTIONS, 1, 0)
    assert np.isnan(undrawn[5:8]).all()
    nothing = spread_of(np.empty((0, 0)), 1, 20)
    assert np.isnan(nothing[:8]).all()
    assert nothing[8:] == (0, 0, 0)


def test_keeps_to_its_seed() -> None:
    table = answers(np.random.default_rng(0), 40, 5, 0.1)
    assert spread_of(table, 4, 60) == spread_of(table, 4, 60)
    assert spread_of(table, 4, 60) != spread_of(table, 5, 60)


@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.05, 0.1])
def test_bounds_hold_the_true_deviation(sigma: float) -> None:
    """100 questions, 12 templates; 400 replicates of 400 resamples gave .94 to 1.0, wide near 0, centred in variance."""
    rng = np.random.default_rng(int(1000 * sigma))
    figures = [spread_of(answers(rng, 100, 12, sigma), replicate, 200) for replicate in range(120)]
    holds = [figure.std_corrected_low <= sigma <= figure.std_corrected_high for figure in figures]
    assert np.mean(holds) >= 0.9
    raw = float(np.mean([figure.std_sample**2 for figure in figures]))
    if sigma == 0:
        assert np.mean([figure.std_corrected == 0 for figure in figures]) > 0.5
        assert np.mean([figure.std_corrected_low == 0 for figure in figures]) > 0.97
        assert raw > 0.0002
    elif sigma == 0.1:
        assert np.mean(holds) <= 0.99
        # bounds that never end would hold it too
        assert np.median([figure.std_corrected_high - figure.std_corrected_low for figure in figures]) < 0.08
        assert np.mean([figure.variance_corrected_low > 0 for figure in figures]) > 0.95
