"""How often a planned design reaches its width, and how often two nights of it tell the promised difference apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, stdtr

from promptaudit.udfs.designs.search import Criterion, full_shapes, incomplete_shapes, least_incomplete, least_of
from promptaudit.udfs.designs.variance_components import N_DRAWS, VarianceComponents, sensitivity_components
from promptaudit.udfs.designs.widths import (
    Design,
    assured_half_widths,
    chance_of_width,
    detectable_difference,
    half_width,
    half_widths,
)
from promptaudit.udfs.measures.breaking_wordings import breaking_wordings
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.two_way import two_way_interval
from tests.benchmarks.test_incomplete_grids import right_answers
from tests.udfs.designs.worlds import World, components_of, dealt, skewed_answers

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

WORLDS = {
    "wordings matter little": World(samples=0.2, wordings=0.03, cells=0.1),
    "wordings matter": World(samples=0.2, wordings=0.06, cells=0.1),
    "answers repeat": World(mean=0.55, samples=0.26, wordings=0.06, cells=0.05),
}
N_WORLDS, N_NIGHTS = 150, 100
WORDINGS = (5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 60)

Answers = Callable[[np.random.Generator, int, int, int], NDArray[np.float64]]
"""Right (1) and wrong (0) answers of n samples under q wordings, r asks a cell: shape (n, q, r)."""


def rare_answers(rng: np.random.Generator, n: int, q: int, r: int) -> NDArray[np.float64]:
    """Six samples in a hundred are at all invalid (1), more or less of the time."""
    odds = rng.normal(0, 1.5, (n, 1)) + rng.normal(0, 0.5, (1, q)) + rng.normal(0, 0.5, (n, q))
    p = np.where(rng.random((n, 1)) < 0.06, expit(odds), 0.0)
    return (rng.random((n, q, r)) < p[:, :, None]).astype(np.float64)


def ordinal_answers(rng: np.random.Generator, n: int, q: int, r: int) -> NDArray[np.float64]:
    """Right where a latent, moved by wordings, stays in its class of five: a wording harms by the square of its shift."""
    cuts, own = np.array([-1.5, -0.5, 0.5, 1.5]), rng.normal(0, 1.5, (n, 1))
    moved = own + rng.normal(0, 0.25, (1, q)) + rng.normal(0, 0.2, (n, q))
    answered = np.searchsorted(cuts, moved[:, :, None] + rng.normal(0, 0.3, (n, q, r)))
    return (answered == np.searchsorted(cuts, own)[:, :, None]).astype(np.float64)


def breaking_answers(rng: np.random.Generator, n: int, q: int, r: int) -> NDArray[np.float64]:
    """One wording in twelve breaks: seven in ten of its cells are wrong."""
    answers, is_broken = World().answers(rng, n, q, r), rng.random(q) < 1 / 12
    answers[(rng.random((n, q)) < 0.7) & is_broken] = 0
    return answers


REACHED: dict[str, tuple[Answers, float, float]] = {
    **{name: (world.answers, 0.1, 0.68) for name, world in WORLDS.items()},
    "nine in ten unanimous": (skewed_answers, 0.05, 0.7),
    "rarely invalid": (rare_answers, 0.034, 0.75),
    "ordinal": (ordinal_answers, 0.086, 0.6),
    "one in twelve breaks": (breaking_answers, 0.1, 0.68),
}
"""Answers, the width that is planned, and the least share of worlds in which .8 of assurance reaches it."""


@pytest.mark.parametrize("shape", [(60, 8), (60, 16)])
@pytest.mark.parametrize("name", REACHED)
def test_reaching_a_width(name: str, shape: tuple[int, int]) -> None:
    """Of full grids and of incomplete ones, planned on the same pilots; wordings that break are left out of all."""
    answers, width, least = REACHED[name]
    rng, kinds = np.random.default_rng(3), [("full", None), ("full", 0.8), ("incomplete", None), ("incomplete", 0.8)]
    truth = float(sound(answers(rng, 20_000, 200, 1)).mean())
    nights: dict[tuple[str, float | None], list[Night]] = {kind: [] for kind in kinds}
    for _ in range(N_WORLDS):
        pilot = components_of(sound(answers(rng, *shape, 2)), n_draws=N_DRAWS)
        for grid, assurance in kinds:
            shapes = incomplete_shapes() if grid == "incomplete" else full_shapes("linear", (1, 2), WORDINGS)
            best = least_of(shapes, width_of(pilot, assurance), width / 2, 5000)
            if best is not None:  # else wordings vary too much for any design: nothing is promised
                night = sound(answers(rng, best.n_samples, best.n_wordings, best.n_repetitions))
                low, high = interval(night, best)
                told = chance_of_width(pilot, best, width)
                nights[grid, assurance].append(Night(high - low <= width, low <= truth <= high, best.n_requests, told))
    for (grid, assurance), own in nights.items():
        figures = Night(*np.mean(own, axis=0).tolist())
        print(
            f"\n{name}, pilot {shape[0]} x {shape[1]}, {grid}, assurance {assurance}: reached {figures.is_reached:.2f} (told "
            f"{figures.told:.2f}), covers {figures.is_covered:.3f}, {np.median([each.n_requests for each in own]):.0f} "
            f"requests; of {N_WORLDS} pilots {len(own)} could be planned",
            end="",
        )
        assert figures.is_covered >= 0.85
        if assurance is None:
            assert figures.is_reached <= 0.65
        else:
            assert figures.is_reached >= least


def sound(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers without the wordings that break."""
    mean = answers[:200].mean(axis=2)
    sample, wording = np.nonzero(np.ones(mean.shape))
    found = breaking_wordings(sample, wording, mean[sample, wording])
    return answers[:, [not each.is_breaking for each in found]]


class Night(NamedTuple):
    """Of one planned night, or the means of many."""

    is_reached: float
    is_covered: float
    n_requests: float
    told: float


def width_of(components: VarianceComponents, assurance: float | None = None) -> Criterion:
    if assurance is None:
        return lambda n, shape: half_widths(components, n, shape)
    return lambda n, shape: assured_half_widths(components, n, shape, assurance)


def interval(answers: NDArray[np.float64], design: Design) -> tuple[float, float]:
    n_wordings = answers.shape[1]
    sample, wording = dealt(design.n_samples, n_wordings, min(n_wordings, design.wordings_per_sample))
    value = answers.mean(axis=2)[sample, wording]
    found = two_way_interval(sample, wording, value, is_incomplete=design.is_incomplete)
    return found.low, found.high


@pytest.mark.parametrize("times", [1.0, 1.1])
def test_requests_for_the_width_of_a_full_grid_of_recorded_answers(ground_truth: Path, times: float) -> None:
    """Six classes, 500 samples under 30 wordings; samples and wordings of nights are drawn from them with replacement."""
    right, _ = right_answers(ground_truth)
    rng, components = np.random.default_rng(7), components_of(right[:, :, None])
    full = Design(n_samples=500, n_wordings=30, wordings_per_sample=30, n_repetitions=1)
    width = 2 * times * half_width(components, full)
    best = least_incomplete(width_of(components), width / 2)
    least = least_of(full_shapes("linear", (1,)), width_of(components), width / 2)
    assert best is not None
    assert least is not None
    for design in (full, least, best):
        bounds = np.array([interval(drawn_from(right, rng, design), design) for _ in range(N_WORLDS)])
        held = float(np.mean((bounds[:, 0] <= right.mean()) & (right.mean() <= bounds[:, 1])))
        mean_width = float(np.mean(bounds[:, 1] - bounds[:, 0]))
        print(
            f"\n{times:g} times {width / times:.4f}: {design.n_samples} samples x {design.wordings_per_sample} of "
            f"{design.n_wordings}, {design.n_requests} requests, width {mean_width:.4f}, covers {held:.3f}",
            end="",
        )
        assert held >= 0.88
        assert mean_width < 1.15 * width
    assert best.n_requests < least.n_requests < full.n_requests


def drawn_from(right: NDArray[np.float64], rng: np.random.Generator, design: Design) -> NDArray[np.float64]:
    rows, columns = (
        rng.integers(0, size, n) for size, n in zip(right.shape, (design.n_samples, design.n_wordings), strict=True)
    )
    return right[np.ix_(rows, columns)][:, :, None]


@pytest.mark.parametrize("shape", [(60, 8), (60, 12)])
def test_reaching_a_width_of_sensitivity(shape: tuple[int, int]) -> None:
    """Four labels by softmax of what samples, wordings and cells add; one ask a cell."""
    rng, width = np.random.default_rng(5), 0.1
    reached: dict[float | None, list[bool]] = {None: [], 0.8: []}
    for _ in range(N_WORLDS):
        pilot = sensitivity_components(*labels_table(rng, *shape), n_draws=N_DRAWS)
        for assurance, own in reached.items():
            shapes = full_shapes("sensitivity", (1,), WORDINGS)
            best = least_of(shapes, width_of(pilot, assurance), width / 2, 3000)
            if best is not None:
                sample, wording, *answers = labels_table(rng, best.n_samples, best.n_wordings)
                found = sensitivity_interval(sample, wording, None, *answers)
                own.append(found.high - found.low <= width)
    plain, sure = float(np.mean(reached[None])), float(np.mean(reached[0.8]))
    print(
        f"\nsensitivity, pilot {shape[0]} x {shape[1]}: reached {plain:.2f}, with assurance .8 {sure:.2f}; of {N_WORLDS} pilots "
        f"{len(reached[0.8])} could be planned so surely"
    )
    assert 0.4 <= plain <= 0.9
    assert sure >= 0.75


def labels_table(
    rng: np.random.Generator, n: int, q: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """Sample, wording, label and share of each cell, and the number of classes, N/A among them."""
    logit = rng.normal(0, 1.6, (n, 1, 4)) + rng.normal(0, 0.4, (1, q, 4)) + rng.normal(0, 0.5, (n, q, 4))
    label = (logit + rng.gumbel(size=(n, q, 4))).argmax(axis=2)
    sample, wording = np.nonzero(np.ones((n, q)))
    return sample, wording, label[sample, wording], np.ones(n * q), 5


@pytest.mark.parametrize("shape", [(200, 6), (200, 12), (200, 18), (400, 24)])
@pytest.mark.parametrize("name", WORLDS)
def test_telling_a_difference_apart(name: str, shape: tuple[int, int]) -> None:
    """Nights of the same samples and wordings: after a change cells answer anew, D more often right."""
    world, rng, m, min_effect = WORLDS[name], np.random.default_rng(5), 16, 0.02
    design = Design(n_samples=shape[0], n_wordings=shape[1], wordings_per_sample=shape[1], n_repetitions=1)
    components = components_of(world.answers(rng, 300, 30, 2))
    promised = detectable_difference(components, design, n_comparisons=m, min_effect=min_effect)
    found = {0.0: 0, promised: 0}
    for difference in found:
        for _ in range(N_NIGHTS):
            first, second = world.nights(rng, *shape, difference)
            moved = second - first
            p = p_over_samples(moved.mean(axis=1))
            found[difference] += p <= 0.05 / m and abs(moved.mean()) >= min_effect
    print(
        f"\n{name}, {shape[0]} x {shape[1]}: {promised:.3f} is found in {found[promised] / N_NIGHTS:.2f}, nothing in "
        f"{found[0.0] / N_NIGHTS:.2f}"
    )
    assert found[0.0] <= 0.03 * N_NIGHTS
    assert found[promised] >= 0.6 * N_NIGHTS


def p_over_samples(moved: NDArray[np.float64]) -> float:
    """Two-sided, by the spread of what samples moved by, as of alike nights that answer anew in every cell."""
    statistic = abs(moved.mean()) / (moved.std(ddof=1) / np.sqrt(len(moved)))
    return float(2 * stdtr(len(moved) - 1, -statistic))
