"""The least design, against every design of a small space, and on pilots of simulated worlds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.designs.search import FEWEST_SAMPLES, FEWEST_WORDINGS, Criterion, least_design, smallest_figure
from promptaudit.udfs.designs.variance_components import VarianceComponents
from promptaudit.udfs.designs.widths import Design, Kind, half_width, half_widths
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World, components_of


def components(samples: float, wordings: float, cells: float, repetitions: float) -> VarianceComponents:
    return VarianceComponents(
        n_samples=60, n_wordings=8, mean=0.5, samples=samples, wordings=wordings, cells=cells, repetitions=repetitions
    )


def width_of(found: VarianceComponents) -> Criterion:
    return lambda n, shape: half_widths(found, n, shape)


def smallest(found: VarianceComponents, half: float, kind: Kind, *, most: int = 150) -> int | None:
    """The fewest requests of all designs of up to 60 wordings and so many samples, one by one."""
    requests = []
    for q, r in itertools.product(range(12 if kind == "sensitivity" else FEWEST_WORDINGS, 61), (1, 2)):
        for n in range(FEWEST_SAMPLES, most + 1):
            design = Design(n_samples=n, n_wordings=q, n_repetitions=r)
            if half_width(found, design) <= half:
                requests.append(design.n_requests)
                break
    return min(requests, default=None)


@pytest.mark.parametrize("kind", ["linear", "sensitivity"])
@pytest.mark.parametrize(
    "found", [components(0.04, 0.004, 0.01, 0.18), components(0.02, 0, 0.02, 0), components(0.01, 0.02, 0, 0.1)]
)
def test_no_design_of_the_space_asks_less(found: VarianceComponents, kind: Kind) -> None:
    best = least_design(width_of(found), 0.07, kind, most_samples=150)
    assert best is not None
    assert half_width(found, best) <= 0.07
    assert best.n_requests == smallest(found, 0.07, kind)
    assert best.n_wordings >= (12 if kind == "sensitivity" else FEWEST_WORDINGS)


def test_none_where_wordings_or_samples_do_not_reach() -> None:
    found = components(0.04, 0.04, 0.01, 0.18)
    assert least_design(width_of(found), 0.05, "linear") is None  # t_59 sqrt(.04 / 60) = .0517
    assert least_design(width_of(found), 0.06, "linear") is not None
    assert least_design(width_of(found), 0.06, "linear", most_samples=20) is None
    assert smallest_figure(width_of(found), "linear") == pytest.approx(0.0517, abs=2e-4)


def test_a_group_that_varies_more_decides() -> None:
    calm, wild = components(0.02, 0.001, 0.01, 0.1), components(0.05, 0.006, 0.01, 0.2)

    def worst(n: NDArray[np.float64], shape: Design) -> NDArray[np.float64]:
        return np.maximum(half_widths(calm, n, shape), half_widths(wild, n, shape))

    assert least_design(worst, 0.05, "linear") == least_design(width_of(wild), 0.05, "linear")


@pytest.mark.slow
def test_a_plan_reaches_its_width_about_half_the_time() -> None:
    rng, width, reached = np.random.default_rng(11), 0.1, []
    for _ in range(100):
        found = components_of(World().answers(rng, 60, 8, 2))
        best = least_design(width_of(found), width / 2, "linear", most_samples=3000)
        assert best is not None
        value = World().answers(rng, best.n_samples, best.n_wordings, best.n_repetitions).mean(axis=2)
        sample, wording = np.nonzero(np.ones(value.shape))
        printed = two_way_interval(sample, wording, value.ravel())
        reached.append(printed.high - printed.low <= width)
    assert 0.3 <= np.mean(reached) <= 0.65
