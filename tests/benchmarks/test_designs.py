"""How often a planned design reaches its width, and how often two nights of it tell the promised difference apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtr

from promptaudit.udfs.designs.search import least_design
from promptaudit.udfs.designs.variance_components import VarianceComponents, sensitivity_components
from promptaudit.udfs.designs.widths import Design, Kind, detectable_difference, half_widths
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World, components_of

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

WORLDS = {
    "wordings matter little": World(samples=0.2, wordings=0.03, cells=0.1),
    "wordings matter": World(samples=0.2, wordings=0.06, cells=0.1),
    "answers repeat": World(mean=0.55, samples=0.26, wordings=0.06, cells=0.05),
}
N_WORLDS, N_NIGHTS = 150, 100


@pytest.mark.parametrize("shape", [(60, 8), (60, 16)])
@pytest.mark.parametrize("name", WORLDS)
def test_reaching_a_width(name: str, shape: tuple[int, int]) -> None:
    """A plan is of what the pilot's components lead to expect: about half of its runs are no wider."""
    world, rng, width = WORLDS[name], np.random.default_rng(3), 0.1
    reached, covered = [], []
    for _ in range(N_WORLDS):
        best = planned(components_of(world.answers(rng, *shape, 2)), width, "linear", (1, 2))
        if best is not None:  # else wordings vary too much for any design: nothing is promised
            mean = world.answers(rng, best.n_samples, best.n_wordings, best.n_repetitions).mean(axis=2)
            sample, wording = np.nonzero(np.ones(mean.shape))
            found = two_way_interval(sample, wording, mean[sample, wording])
            reached.append(found.high - found.low <= width)
            covered.append(found.low <= world.mean <= found.high)
    print(
        f"\n{name}, pilot {shape[0]} x {shape[1]}: reached {np.mean(reached):.2f}, covers {np.mean(covered):.3f}; of "
        f"{N_WORLDS} pilots {len(reached)} could be planned"
    )
    assert np.mean(covered) >= 0.85
    assert np.mean(reached) <= 0.65


@pytest.mark.parametrize("shape", [(60, 8), (60, 12)])
def test_reaching_a_width_of_sensitivity(shape: tuple[int, int]) -> None:
    """Four labels by softmax of what samples, wordings and cells add; one ask a cell."""
    rng, width, reached = np.random.default_rng(5), 0.1, []
    for _ in range(N_WORLDS):
        best = planned(sensitivity_components(*labels_table(rng, *shape)), width, "sensitivity", (1,))
        if best is not None:
            sample, wording, *answers = labels_table(rng, best.n_samples, best.n_wordings)
            found = sensitivity_interval(sample, wording, None, *answers)
            reached.append(found.high - found.low <= width)
    print(f"\nsensitivity, pilot {shape[0]} x {shape[1]}: reached {np.mean(reached):.2f}")
    assert 0.3 <= np.mean(reached) <= 0.9


def planned(components: VarianceComponents, width: float, kind: Kind, repetitions: tuple[int, ...]) -> Design | None:
    return least_design(
        lambda n, shape: half_widths(components, n, shape), width / 2, kind, most_samples=5000, repetitions=repetitions
    )


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
    design = Design(n_samples=shape[0], n_wordings=shape[1], n_repetitions=1)
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
