"""The least design, against every design of a small space, and on pilots of simulated worlds."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.designs.search import (
    FEWEST_SAMPLES,
    FEWEST_WORDINGS,
    Criterion,
    full_shapes,
    incomplete_shapes,
    least_design,
    least_incomplete,
    least_of,
    smallest_figure,
)
from promptaudit.udfs.designs.variance_components import VarianceComponents
from promptaudit.udfs.designs.widths import Design, Kind, half_width, half_widths
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World, components_of, dealt


def components(samples: float, wordings: float, cells: float, repetitions: float) -> VarianceComponents:
    return VarianceComponents(
        n_samples=60,
        n_wordings=8,
        mean=0.5,
        samples=samples,
        wordings=wordings,
        cells=cells,
        repetitions=repetitions,
    )


def width_of(found: VarianceComponents) -> Criterion:
    return lambda n, shape: half_widths(found, n, shape)


def smallest(found: VarianceComponents, half: float, kind: Kind, *, most: int = 150) -> int | None:
    """The fewest requests of all designs of up to 60 wordings and so many samples, one by one."""
    requests = []
    for q, r in itertools.product(range(12 if kind == "sensitivity" else FEWEST_WORDINGS, 61), (1, 2)):
        for n in range(FEWEST_SAMPLES, most + 1):
            design = Design(n_samples=n, n_wordings=q, wordings_per_sample=q, n_repetitions=r)
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
    assert best.wordings_per_sample == best.n_wordings
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


def reached(world: World, width: float, n_worlds: int, *, is_incomplete: bool = False) -> tuple[float, float]:
    """How often a design planned on a pilot of 60 x 8 gives a run whose interval is no wider, and its mean requests."""
    rng, n_reached, requests = np.random.default_rng(11), 0, []
    for _ in range(n_worlds):
        found = components_of(world.answers(rng, 60, 8, 2))
        shapes = incomplete_shapes() if is_incomplete else full_shapes("linear", (1, 2), (5, 6, 8, 10, 12, 20, 30, 60))
        best = least_of(shapes, width_of(found), width / 2, 3000)
        assert best is not None
        run = world.answers(rng, best.n_samples, best.n_wordings, best.n_repetitions)
        sample, wording = dealt(best.n_samples, best.n_wordings, best.wordings_per_sample)
        value = run.mean(axis=2)[sample, wording]
        printed = two_way_interval(sample, wording, value, is_incomplete=best.is_incomplete)
        n_reached += printed.high - printed.low <= width
        requests.append(best.n_requests)
    return n_reached / n_worlds, float(np.mean(requests))


@pytest.mark.slow
def test_a_plan_reaches_its_width_about_half_the_time() -> None:
    assert 0.3 <= reached(World(), 0.1, 100)[0] <= 0.65


@pytest.mark.slow  # 4 s of simulation
def test_a_plan_of_an_incomplete_grid_reaches_its_width_as_surely_for_a_part_of_the_requests() -> None:
    full = partial(reached, World(), 0.12, 30)
    (plain, few), (_, many) = full(is_incomplete=True), full()
    assert 0.3 <= plain <= 0.65
    assert few < 0.6 * many


def test_an_incomplete_grid_reaches_the_width_with_fewer_requests_the_more_wordings_vary() -> None:
    saved = []
    for wordings in (0.001, 0.004, 0.008):
        found = components(0.04, wordings, 0.01, 0.18)
        best = least_incomplete(width_of(found), 0.05)
        assert best is not None
        assert half_width(found, best) <= 0.05
        assert 3 <= best.wordings_per_sample < best.n_wordings
        assert best.n_samples * best.wordings_per_sample >= 10 * best.n_wordings
        full = least_design(width_of(found), 0.05, "linear")
        assert full is not None
        saved.append(1 - best.n_requests / full.n_requests)
    assert saved == sorted(saved)
    assert saved[0] > 0.2


def test_no_incomplete_grid_asks_a_wording_of_fewer_than_ten_samples() -> None:
    found = components(0.0, 0.0, 0.0, 0.01)  # any design will do
    best = least_incomplete(width_of(found), 0.1)
    assert best is not None
    assert (best.n_samples, best.n_wordings, best.wordings_per_sample) == (20, 8, 4)
    assert least_incomplete(width_of(found), 0.1, 19) is not None  # 8 of 10, 12 of 15
    assert least_incomplete(width_of(found), 0.1, 10) is None
