"""Bootstrap weights, percentiles, and what units and parts of a variance tell."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.resampling import (
    bearing_samples,
    chunks,
    generator,
    logit_interval,
    moved_on_the_logit,
    n_effective,
    percentile_interval,
    resampled_units,
    t_quantile,
    two_part_half_width,
    weights,
    widened,
)


def test_each_resample_draws_as_many_as_there_are() -> None:
    drawn = weights(generator(3, 0), 40, 25)
    assert drawn.shape == (40, 25)
    assert (drawn.sum(axis=0) == 40).all()
    assert (drawn == weights(generator(3, 0), 40, 25)).all()
    assert (drawn != weights(generator(3, 1), 40, 25)).any()
    assert weights(generator(-1, 0), 5, 2).sum() == 10


@pytest.mark.parametrize(("n_units", "n_resamples"), [(1, 3), (39, 1000), (5000, 8), (40_000, 2)])
def test_units_are_drawn_one_resample_after_another(n_units: int, n_resamples: int) -> None:
    ours, plain = generator(7, 2), generator(7, 2)
    drawn = [plain.integers(0, n_units, size=n_units, dtype=np.int32) for _ in range(n_resamples)]
    expected = np.stack([np.bincount(row, minlength=n_units) for row in drawn], axis=1)
    assert np.array_equal(weights(ours, n_units, n_resamples), expected)
    assert ours.random() == plain.random()


@pytest.mark.parametrize("n_rows", [10, 1_000_000])
def test_weights_that_are_kept_are_those_drawn_anew(n_rows: int) -> None:
    for seed, sizes in ((1, [30, 7]), (2, [30, 7]), (1, [7, 30]), (1, [30, 7])):
        rng = generator(seed, 1)
        parts = list(resampled_units(seed, 1, sizes, 10, n_rows))
        for part in parts:
            expected = [weights(rng, size, part.shape[1]) for size in sizes]
            assert np.array_equal(part, np.concatenate(expected))
        assert sum(part.shape[1] for part in parts) == 10


def test_chunks_cover_all_resamples() -> None:
    assert sum(chunks(1000, 130_000)) == 1000
    assert max(chunks(1000, 130_000)) * 130_000 * 8 < 50_000_000
    assert list(chunks(7, 10**9)) == [1] * 7
    assert list(chunks(0, 5)) == []


def test_percentiles_leave_out_what_is_undefined() -> None:
    table = np.array([np.arange(101.0), np.append(np.arange(100.0), np.nan), np.full(101, np.nan)])
    assert percentile_interval(table)[0] == pytest.approx([2.5, 97.5])
    assert percentile_interval(table)[1] == pytest.approx([2.475, 96.525])
    assert np.isnan(percentile_interval(table)[2]).all()
    assert percentile_interval(np.arange(101.0)) == pytest.approx([2.5, 97.5])


def test_units_of_unequal_parts_tell_less() -> None:
    assert n_effective(np.arange(30)) == pytest.approx(30)
    assert n_effective(np.repeat(np.arange(6), 5)) == pytest.approx(6)
    assert n_effective(np.append(np.zeros(15, np.int64), np.arange(1, 16))) == pytest.approx(1 / (0.25 + 15 / 900))


def test_samples_that_bear_a_variance_are_counted() -> None:
    assert bearing_samples(np.zeros(50)) == bearing_samples(np.full(50, 0.1)) == bearing_samples(np.empty(0)) == 0
    assert bearing_samples(np.repeat([0.0, 1.0], [10_000, 7])) == pytest.approx(7, rel=0.01)
    normal = np.random.default_rng(1).standard_normal(30_000)
    assert bearing_samples(normal) == pytest.approx(10_000, rel=0.05)


def test_a_variance_of_two_parts() -> None:
    # V = 3 + 1 with 30 and 3 degrees of freedom: 16 / (9/30 + 1/3) = 25.26
    assert two_part_half_width(3.0, 1.0, 30, 3) == pytest.approx(2 * t_quantile(16 / (9 / 30 + 1 / 3)))
    assert two_part_half_width(3.0, 0.0, 30, 3) == pytest.approx(np.sqrt(3) * t_quantile(30))
    assert two_part_half_width(0.0, 0.0, 30, 3) == 0
    assert np.isnan(two_part_half_width(3.0, np.nan, 30, 3))


def test_a_rate_is_bounded_on_its_logit() -> None:
    # .2 with a standard error of .04: ln(.2 / .8) -+ 1.984 .04 / .16
    low, high = logit_interval(0.2, 0.04**2, 100)
    odds = 0.25 * np.exp(t_quantile(100) * 0.25)
    assert high == pytest.approx(odds / (1 + odds))
    assert 0.2 - low < high - 0.2
    assert logit_interval(0.8, 0.04**2, 100) == pytest.approx((1 - high, 1 - low))
    assert logit_interval(0.0, 0.0, 5) == (0, 0)
    assert np.isnan(logit_interval(0.2, np.nan, 5)).all()
    assert np.isnan(logit_interval(0.2, 0.1, 0)).all()


def test_a_bound_moves_with_its_rate() -> None:
    # odds of 1/9 and 1/3 lie as far apart as odds of 1/3 and 1
    assert moved_on_the_logit(0.25, 0.1, 0.25) == pytest.approx(0.5)
    assert moved_on_the_logit(0.3, 0.2, 0.2) == pytest.approx(0.3)
    for bound, rate, to in [(0.0, 0.1, 0.2), (0.1, 0.0, 0.2), (0.4, 0.1, 1.0)]:
        assert moved_on_the_logit(bound, rate, to) == bound


def test_the_interval_of_the_largest_of_many_holds_its_truth() -> None:
    rng = np.random.default_rng(5)
    n, truth, plain, wider = 60, 0.3, [], []
    for _ in range(400):
        value = rng.beta(truth, 1 - truth, (18, n))
        largest = value[value.mean(axis=1).argmax()]
        own = logit_interval(float(largest.mean()), float(largest.var(ddof=1)) / n, n - 1)
        plain.append(own.low <= truth <= own.high)
        low, high = widened(float(largest.mean()), *own, 18)
        wider.append(low <= truth <= high)
    assert np.mean(plain) == pytest.approx(0.64, abs=0.05)
    assert np.mean(wider) >= 0.95


def test_widening_stays_where_a_figure_can_be() -> None:
    assert widened(0.2, 0.1, 0.35, 1) == pytest.approx((0.1, 0.35))
    # z(1 - .025/18) = 2.9913, 1.5262 times 1.96: on the logit scale .2 lies at -1.3863, .1 at -2.1972
    assert widened(0.2, 0.1, 0.35, 18).low == pytest.approx(
        1 / (1 + np.exp(1.3863 + 1.5262 * (2.1972 - 1.3863))), abs=1e-4
    )
    assert widened(0.2, 0.0, 1.0, 18) == (0, 1)
    assert widened(1.0, 0.4, 1.0, 600) == (0, 1)
    low, high = widened(-0.1, -0.2, 0.1, 18)
    assert (low, high) == pytest.approx((-0.1 - 0.15262, -0.1 + 0.30524), abs=1e-4)
