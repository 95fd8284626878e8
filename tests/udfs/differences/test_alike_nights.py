"""What alike nights say of an error, by hand: by how far apart they are, what moves the other way, who carries a difference."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.differences.alike_nights import (
    NO_SPREAD,
    carriers,
    night_spread,
    opposite_variance,
    own_variance,
    unit_values,
    variances_by_lag,
)

AGE = np.array([3, 2, 1, 0])
INSIDE = AGE == 0


def stepped() -> np.ndarray:
    """Ten samples on three normal nights and tonight; the first changes between the first two nights and stays."""
    values = np.ones((4, 10))
    values[0, 0] = 0
    return values


def test_variances_grow_with_the_distance_of_nights() -> None:
    # neighbours: one of 20 terms is 1, halved .025; two apart: one of 10, .05; three apart is across the edge
    gamma = variances_by_lag(stepped(), AGE, [INSIDE, ~INSIDE], 10)
    assert gamma[1:] == pytest.approx([0.025, 0.05, 0.05])
    # with 15 terms needed two apart has too few, and takes what neighbours say
    assert variances_by_lag(stepped(), AGE, [INSIDE, ~INSIDE], 15)[1:] == pytest.approx([0.025, 0.025, 0.025])
    assert variances_by_lag(np.full((4, 10), np.nan), AGE, [INSIDE, ~INSIDE], 10) == pytest.approx(0)


def test_an_error_by_hand() -> None:
    # weights -1/3, -1/3, -1/3, 1 of ten samples: 10 * 2 * (1/3 (.025 + .05 + .05) - 1/9 (.025 + .025 + .05)) = .6111
    variance, freedom = own_variance(stepped(), AGE, INSIDE, ~INSIDE, ~INSIDE)
    assert variance == pytest.approx(20 * (0.125 / 3 - 0.1 / 9))
    # one sample varies, on three nights: (s^2)^2 / (s^4 / 4)
    assert freedom == pytest.approx(4)
    # answers drawn anew: v (1/w + 1/R) n, and never less than that
    values = np.random.default_rng(0).normal(size=(4, 4000))
    assert own_variance(values, AGE, INSIDE, ~INSIDE, ~INSIDE)[0] == pytest.approx(4000 * (1 + 1 / 3), rel=0.05)
    assert own_variance(np.ones((4, 10)), AGE, INSIDE, ~INSIDE, ~INSIDE) == (0, 1e4)


def test_samples_of_a_cluster_are_summed() -> None:
    values = np.array([[1.0, 0.0, 4.0], [3.0, np.nan, 6.0]])
    # deviations from each sample's mean: -1, 0, -1 and 1, none, 1; the first two are one document
    assert unit_values(values, np.array([7, 7, 9])) == pytest.approx(np.array([[-1.0, -1.0], [1.0, 1.0]]))


def test_what_moves_the_other_way_and_who_carries_it() -> None:
    differences = np.array([-0.5, -0.5, -0.5, 0.25, 0.0])
    assert opposite_variance(differences) == pytest.approx(2 * 0.0625)
    assert carriers(differences) == pytest.approx(3)
    assert carriers(np.array([-0.6, -0.2])) == pytest.approx(0.64 / 0.4)
    assert (opposite_variance(np.zeros(4)), carriers(np.zeros(4))) == (0, 0)


def test_neighbours_that_lack_common_samples_are_no_pair() -> None:
    values = np.ones((4, 20))
    values[1, 5:] = np.nan
    # nights 0 and 2 are neighbours then, and so are 2 and 3; night 1 has 5 samples
    assert night_spread(values, AGE) == (0, 2)
    assert night_spread(values[:1], AGE[:1]) == NO_SPREAD
