"""Components of variance, against sums written out and against worlds whose components are known."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.designs.bias import sensitivity_bias
from promptaudit.udfs.designs.variance_components import VarianceComponents, linear_components, sensitivity_components
from tests.udfs.designs.worlds import World, components_of

# four questions under three templates
TABLE = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)


def of_table(table: np.ndarray) -> VarianceComponents:
    return components_of(table[:, :, None])


def test_by_hand() -> None:
    found = of_table(TABLE)
    # wordings' means 3/4, 3/4, 1/4: their variance is 1/12; samples' means 2/3, 1/3, 1, 1/3: 11/108; residual mean square 2/9
    assert found.wordings == pytest.approx(1 / 12 - 2 / 9 / 4)
    assert found.samples == pytest.approx(11 / 108 - 2 / 9 / 3)
    assert (found.mean, found.cells) == (pytest.approx(7 / 12), pytest.approx(2 / 9))
    assert not found.has_repetitions


def test_repetitions_are_taken_from_the_residual() -> None:
    # a cell of the table that is 1 was asked four times and answered right twice: 1/2 * 1/2 * 4/3 = 1/3 a single ask
    asks = np.stack([TABLE, TABLE, 0 * TABLE, 0 * TABLE], axis=2)
    found = components_of(asks)
    assert found.repetitions == pytest.approx(7 / 12 / 3)
    assert found.wordings == pytest.approx((1 / 12 - 2 / 9 / 4) / 4)
    assert found.cells == pytest.approx(2 / 9 / 4 - 7 / 12 / 3 / 4)
    assert found.of_a_cell(1) == pytest.approx(found.cells + 7 / 12 / 3)
    assert found.of_a_cell(2) == pytest.approx(found.cells + 7 / 12 / 6)


def test_an_original_that_is_asked_oftener_counts_with_its_own_number() -> None:
    sample, wording = np.nonzero(np.ones((3, 2)))
    n_asks = np.where(wording == 0, 10, 2)
    value = np.array([0.5, 0.5, 1, 0.5, 0, 0])
    within = value * (1 - value) * n_asks / (n_asks - 1)
    found = linear_components(sample, wording, value, within, n_asks)
    # 1/4 * 10/9 of the first cell, 1/4 * 2/1 of two others, of six
    repetitions = (0.25 * 10 / 9 + 0.25 * 2 + 0.25 * 2) / 6
    assert found.repetitions == pytest.approx(repetitions)
    # residuals -1/12, 1/6, -1/12 of the first wording, and as much less of the second: a mean square of 1/24 on 2 of freedom
    assert found.cells == pytest.approx(max(0, 1 / 24 - repetitions * (3 / 10 + 3 / 2) / 6))


def test_known_components_are_found_on_average() -> None:
    world, rng = World(), np.random.default_rng(20261124)
    found = [components_of(world.answers(rng, 60, 8, 2)) for _ in range(60)]
    assert np.mean([each.samples for each in found]) == pytest.approx(world.samples**2, rel=0.08)
    assert np.mean([each.wordings for each in found]) == pytest.approx(world.wordings**2, rel=0.3)
    assert np.mean([each.cells for each in found]) == pytest.approx(world.cells**2, rel=0.25)
    assert np.mean([each.repetitions for each in found]) == pytest.approx(world.repetitions, rel=0.02)


def test_missing_cells_leave_the_components_alike() -> None:
    rng = np.random.default_rng(4)
    table = World().answers(rng, 80, 10, 1)[:, :, 0]
    whole = of_table(table)
    table[rng.random(table.shape) < 0.02] = np.nan
    holed = of_table(table)
    assert holed.cells == pytest.approx(whole.cells, rel=0.05)
    assert holed.samples == pytest.approx(whole.samples, rel=0.15)


def entropy(labels: np.ndarray, n_classes: int) -> float:
    p = np.bincount(labels) / len(labels)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum() / np.log(n_classes))


def pseudo_values(labels: np.ndarray, n_classes: int) -> np.ndarray:
    q = len(labels)
    without = np.array([entropy(np.delete(labels, v), n_classes) for v in range(q)])
    return q * entropy(labels, n_classes) - (q - 1) * without


def test_sensitivity_by_pseudo_values_written_out() -> None:
    rng = np.random.default_rng(7)
    n, q, n_classes = 9, 6, 4
    labels = np.where(rng.random((n, q)) < 0.6, rng.integers(0, 4, (n, 1)), rng.integers(0, 4, (n, q)))
    pseudo = np.array([pseudo_values(row, n_classes) for row in labels])
    by_sample = np.array([entropy(row, n_classes) for row in labels])
    effects = pseudo.mean(axis=1, keepdims=True) + pseudo.mean(axis=0) - pseudo.mean()
    residual = ((pseudo - effects) ** 2).sum() / ((n - 1) * (q - 1))
    sample, wording = np.nonzero(np.ones((n, q)))
    found = sensitivity_components(sample, wording, labels[sample, wording], np.ones(n * q), n_classes)
    assert found.cells == pytest.approx(residual)
    assert found.wordings == pytest.approx(max(0, pseudo.mean(axis=0).var(ddof=1) - residual / n))
    assert found.samples == pytest.approx(max(0, by_sample.var(ddof=1) - residual / q))
    assert found.mean == pytest.approx(by_sample.mean())


def test_bias_is_what_the_correction_adds_and_shrinks_with_wordings() -> None:
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 3, (20, 12))
    sample, wording = np.nonzero(np.ones(labels.shape))
    table = (sample, wording, labels[sample, wording], np.ones(240), 4)
    plain = np.mean([entropy(row, 4) for row in labels])
    bias = sensitivity_bias(*table, 12)
    assert bias == pytest.approx(plain - np.mean([pseudo_values(row, 4) for row in labels]))
    assert bias < 0
    assert sensitivity_bias(*table, 24) == pytest.approx(bias / 2)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (0, 0)])
def test_too_small_a_table_has_no_components(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="need 2 samples and 2 wordings"):
        of_table(np.ones(shape))


def test_sensitivity_needs_three_wordings_and_two_classes() -> None:
    sample, wording = np.nonzero(np.ones((4, 2)))
    with pytest.raises(ValueError, match="3 wordings and 2 classes"):
        sensitivity_components(sample, wording, wording, np.ones(8), 3)
