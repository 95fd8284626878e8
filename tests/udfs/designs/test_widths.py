"""Widths of designs: the formula by hand, and the intervals that runs print."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nct, norm, t

from promptaudit.udfs.designs.variance_components import VarianceComponents, sensitivity_components
from promptaudit.udfs.designs.widths import Design, detectable_difference, half_width
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World, components_of

COMPONENTS = VarianceComponents(
    n_samples=60, n_wordings=8, mean=0.6, samples=0.04, wordings=0.0036, cells=0.01, repetitions=0.18
)


def design(n: int, q: int, r: int = 1) -> Design:
    return Design(n_samples=n, n_wordings=q, n_repetitions=r)


def test_by_hand() -> None:
    # d = .01 + .18/2 = .1; of 50 samples, 10 wordings: .0008 + .00036 + .0002
    variance = 0.0008 + 0.00036 + 0.0002
    nu = variance**2 / ((0.0008 + 0.0002) ** 2 / 49 + (0.00036 + 0.0002) ** 2 / 9)
    found = half_width(COMPONENTS, design(50, 10, 2))
    assert found == pytest.approx(t.ppf(0.975, nu) * variance**0.5)


def test_requests() -> None:
    assert design(50, 10, 2).n_requests == 1000


def test_a_tables_own_design_has_the_width_that_its_run_prints() -> None:
    answers = World().answers(np.random.default_rng(3), 100, 12, 2)
    components, (sample, wording) = components_of(answers), np.nonzero(np.ones((100, 12)))
    value = answers.mean(axis=2)[sample, wording]
    printed = two_way_interval(sample, wording, value)
    own = half_width(components, design(100, 12, 2))
    assert own == pytest.approx((printed.high - printed.low) / 2, rel=0.01)  # printed on the logit


def test_that_of_sensitivity_too() -> None:
    rng = np.random.default_rng(5)
    labels = np.where(
        rng.random((80, 12)) < rng.random((80, 1)), rng.integers(0, 3, (80, 1)), rng.integers(0, 3, (80, 12))
    )
    sample, wording = np.nonzero(np.ones(labels.shape))
    table = (labels[sample, wording], np.ones(960), 4)
    printed = sensitivity_interval(sample, wording, None, *table)
    own = half_width(sensitivity_components(sample, wording, *table), design(80, 12))
    assert own == pytest.approx((printed.high - printed.low) / 2, rel=0.02)  # printed on the logit


def test_no_number_of_samples_goes_below_what_wordings_leave() -> None:
    least = t.ppf(0.975, 59) * (0.0036 / 60) ** 0.5
    assert half_width(COMPONENTS, design(10**6, 60)) == pytest.approx(least, rel=1e-3)


def test_smallest_detectable_difference_by_hand() -> None:
    # SE_d^2 = 2 (.01 + .18) / (50 * 10) = .00076; of 50 samples 49 degrees of freedom
    error = 0.00076**0.5
    found = detectable_difference(COMPONENTS, design(50, 10), n_comparisons=8, min_effect=0.02)
    assert nct.sf(t.ppf(1 - 0.025 / 8, 49), 49, found / error) == pytest.approx(0.9)
    # where answers scatter little it is the least difference that counts
    found = detectable_difference(COMPONENTS, design(5000, 60), n_comparisons=8, min_effect=0.02)
    assert found == pytest.approx(0.02 + norm.ppf(0.9) * (2 * 0.19 / 300_000) ** 0.5)
