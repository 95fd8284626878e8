"""How often a planned design reaches its width, and how often two nights of it tell the promised difference apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtr

from tests.udfs.designs.worlds import World, components_of
from udfs.comparison.by_variants import MIN_EXCHANGED
from udfs.designs.search import least_design
from udfs.designs.variance_components import sensitivity_components, with_assurance
from udfs.designs.widths import (
    Design,
    chance_of_width,
    detectable_difference,
    half_widths,
)
from udfs.measures.sensitivity import sensitivity_interval
from udfs.two_way import two_way_interval

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

WORLDS = {
    "wordings matter little": World(samples=0.2, wordings=0.03, cells=0.1),
    "wordings matter": World(samples=0.2, wordings=0.06, cells=0.1),
    "answers repeat": World(mean=0.55, samples=0.26, wordings=0.06, cells=0.05),
}
N_WORLDS, N_NIGHTS, N_FLIPS = 200, 100, 2000


@pytest.mark.parametrize("shape", [(60, 8), (100, 12)])
@pytest.mark.parametrize("name", WORLDS)
def test_reaching_a_width(name: str, shape: tuple[int, int]) -> None:
    world, rng, width = WORLDS[name], np.random.default_rng(3), 0.1
    reached: dict[float | None, list[bool]] = {None: [], 0.8: []}
    requests: dict[float | None, list[int]] = {None: [], 0.8: []}
    chances: dict[float | None, list[float]] = {None: [], 0.8: []}
    for _ in range(N_WORLDS):
        pilot = components_of(world.answers(rng, *shape, 2))
        for assurance, own in reached.items():
            planned = pilot if assurance is None else with_assurance(pilot, assurance)
            best = least_design(
                lambda n, each, planned=planned: half_widths(planned, n, each, "linear"),
                width / 2,
                "linear",
                most_samples=5000,
            )
            if best is None:  # wordings vary too much for any design: nothing is promised
                continue
            own.append(interval(world.answers(rng, best.n_samples, best.n_wordings, best.n_repetitions)) <= width)
            requests[assurance].append(best.n_requests)
            chances[assurance].append(chance_of_width(pilot, best, width, "linear"))
    plain, sure = float(np.mean(reached[None])), float(np.mean(reached[0.8]))
    ratio = float(np.median(requests[0.8])) / float(np.median(requests[None]))
    print(
        f"\n{name}, pilot {shape[0]} x {shape[1]}: reached {plain:.2f} (told {np.mean(chances[None]):.2f}), with "
        f"assurance .8 {sure:.2f} (told {np.mean(chances[0.8]):.2f}) for {ratio:.1f} times the requests; of "
        f"{N_WORLDS} pilots {len(reached[None])}, {len(reached[0.8])} could be planned"
    )
    assert 0.33 <= plain <= 0.65
    assert 0.68 <= sure <= 0.9


def interval(answers: NDArray[np.float64]) -> float:
    sample, wording = np.nonzero(np.ones(answers.shape[:2]))
    found = two_way_interval(sample, wording, answers.mean(axis=2)[sample, wording])
    return found.high - found.low


@pytest.mark.parametrize("shape", [(60, 8), (60, 12)])
def test_reaching_a_width_of_sensitivity(shape: tuple[int, int]) -> None:
    """Four labels by softmax of what samples, wordings and cells add; one ask a cell."""
    rng, width = np.random.default_rng(5), 0.1
    reached: dict[float | None, list[bool]] = {None: [], 0.8: []}
    for _ in range(N_WORLDS):
        pilot = sensitivity_components(*labels_table(rng, *shape))
        for assurance, own in reached.items():
            planned = pilot if assurance is None else with_assurance(pilot, assurance)
            best = least_design(
                lambda n, each, planned=planned: half_widths(planned, n, each, "sensitivity"),
                width / 2,
                "sensitivity",
                repetitions=(1,),
                most_samples=3000,
            )
            assert best is not None
            found = sensitivity_interval(*labels_table(rng, best.n_samples, best.n_wordings))
            own.append(found.high - found.low <= width)
    plain, sure = float(np.mean(reached[None])), float(np.mean(reached[0.8]))
    print(f"\nsensitivity, pilot {shape[0]} x {shape[1]}: reached {plain:.2f}, with assurance .8 {sure:.2f}")
    assert 0.4 <= plain <= 0.75
    assert 0.7 <= sure <= 0.92


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
            p = max(p_by_exchanges(moved.mean(axis=1), rng), p_by_wordings(moved.mean(axis=0), rng))
            found[difference] += p <= 0.05 / m and abs(moved.mean()) >= min_effect
    print(
        f"\n{name}, {shape[0]} x {shape[1]}: {promised:.3f} is found in {found[promised] / N_NIGHTS:.2f}, nothing in "
        f"{found[0.0] / N_NIGHTS:.2f}"
    )
    assert found[0.0] <= 0.03 * N_NIGHTS
    assert found[promised] >= 0.6 * N_NIGHTS


def p_by_exchanges(moved: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Two-sided, by exchanging the nights of whole rows in 2,000 drawn ways."""
    null = np.abs(rng.choice([-1.0, 1.0], (N_FLIPS, len(moved))) @ moved)
    return float((1 + (null >= abs(moved.sum()) - 1e-12).sum()) / (1 + N_FLIPS))


def p_by_wordings(moved: NDArray[np.float64], rng: np.random.Generator) -> float:
    """By exchanges of wordings, and with too few of them by a t test, as runs are compared."""
    if len(moved) >= MIN_EXCHANGED:
        return p_by_exchanges(moved, rng)
    statistic = abs(moved.mean()) / (moved.std(ddof=1) / np.sqrt(len(moved)))
    return float(2 * stdtr(len(moved) - 1, -statistic))
