"""The variances over variants that the effects of kinds of variation have."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.measures.variation_spread import Spread, bounds_of, variance_of_table
from promptaudit.udfs.two_way import TwoWayVariance, two_way_variance


def test_a_full_table_has_the_variance_of_its_entries() -> None:
    table = np.random.default_rng(0).normal(size=(9, 4)) + np.arange(4)
    sample, unit = np.nonzero(np.ones_like(table))
    with_an_empty_row = np.concatenate([table, np.full((1, 4), np.nan)])
    for of in (table, with_an_empty_row):
        assert variance_of_table(of) == pytest.approx(two_way_variance(sample, unit, table.ravel()))
    table[2, 3] = np.nan
    sample, unit = np.nonzero(~np.isnan(table))
    assert variance_of_table(table) == pytest.approx(two_way_variance(sample, unit, table[sample, unit]))
    assert variance_of_table(table[:, :1]) is None


def test_distances_of_pairs_vary_by_their_variance_over_the_number_of_units() -> None:
    # of 4 units 2/5 of the pairs are with the original; 6 pairs of two units, whose variance is 6 x .02
    spread = Spread(TwoWayVariance(0.05, 0.01, 4), TwoWayVariance(0.02, 0.002, 6))
    variance = spread.at(4)
    assert variance == pytest.approx((0.4**2 * 0.05 + 0.6**2 * 6 * 0.02 / 4, 0.4**2 * 0.01 + 0.6**2 * 6 * 0.002 / 4, 4))
    alone = spread.at(1)
    assert alone == pytest.approx((0.05, 0.01, 4))  # the distance from the original alone
    assert Spread(None, None).at(2) is None


def test_the_upper_bound_is_of_a_logarithmic_scale_and_at_most_one() -> None:
    effects = np.full(50, 0.3) + np.tile([-0.05, 0.05], 25)
    even, uneven = (TwoWayVariance(variants, 0.0001, 4) for variants in (0.0001, 0.01))
    low, high = bounds_of(effects, even, 0.025)
    assert high - 0.3 == pytest.approx(0.3 - low)  # nothing beyond noise
    low, high = bounds_of(effects, uneven, 0.025)
    assert 0.3 - low < high - 0.3
    assert high <= 1
    of_nothing = bounds_of(effects - 0.3, uneven, 0.025)
    assert of_nothing[1] == pytest.approx(-of_nothing[0])
