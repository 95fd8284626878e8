"""Components of runs whose wordings are near-duplicates of each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.designs.variance_components import VarianceComponents, linear_components, sensitivity_components
from promptaudit.udfs.designs.widths import Design, half_width
from promptaudit.udfs.designs.without_near_duplicates import MOST_TURNS, one_wording_a_family
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World

WORLD, N_RUNS = World(), 40
SIX_BY_FIVE = np.repeat(np.arange(6), 5)


def linear(answers: NDArray[np.float64], families: NDArray[np.int64] | None) -> VarianceComponents:
    mean = answers.mean(axis=2)
    sample, wording = np.nonzero(np.ones(mean.shape))
    within = answers.var(axis=2, ddof=1)[sample, wording]
    family = None if families is None else families[wording]
    return linear_components(sample, wording, mean[sample, wording], within, np.full(len(sample), 2), family)


def printed(answers: NDArray[np.float64], families: NDArray[np.int64]) -> float:
    mean = answers.mean(axis=2)
    sample, wording = np.nonzero(np.ones(mean.shape))
    found = two_way_interval(sample, wording, mean[sample, wording], families[wording])
    return found.high - found.low


def chosen(wording: list[int], family: list[int]) -> list[list[int]]:
    codes = np.array(wording)
    return [codes[kept].tolist() for kept in one_wording_a_family(codes, np.array(family))]


def test_each_wording_of_a_family_is_chosen_in_turn() -> None:
    # families {0, 2}, {1} and {3, 4, 5}; wording 0 has two rows
    assert chosen([0, 0, 1, 2, 3, 4, 5], [7, 7, 8, 7, 9, 9, 9]) == [[0, 0, 1, 3], [1, 2, 4], [0, 0, 1, 5]]


def test_a_large_family_takes_no_more_than_five_turns() -> None:
    assert chosen(list(range(9)), [0] * 8 + [1]) == [[turn, 8] for turn in range(MOST_TURNS)]


def test_wordings_without_families_are_all_chosen() -> None:
    assert chosen([0, 1, 1], [0, 1, 1]) == [[0, 1, 1]]
    (kept,) = one_wording_a_family(np.array([0, 1]), None)
    assert kept == slice(None)


def test_families_of_one_change_nothing() -> None:
    answers = WORLD.answers(np.random.default_rng(1), 60, 8, 2)
    assert linear(answers, np.arange(8)) == linear(answers, None)


def test_thirty_wordings_in_six_families_vary_as_six_do() -> None:
    rng = np.random.default_rng(2)
    six = Design(n_samples=200, n_wordings=6, wordings_per_sample=6, n_repetitions=2)
    thirty = Design(n_samples=200, n_wordings=30, wordings_per_sample=30, n_repetitions=2)
    found, by_wordings, planned, told, seen = [], [], [], [], []
    for _ in range(N_RUNS):
        answers = WORLD.answers_in_families(rng, 200, SIX_BY_FIVE, 2)
        own = linear(answers, SIX_BY_FIVE)
        found.append((own.samples, own.wordings, own.cells))
        planned.append(2 * half_width(own, six))
        by_wordings.append(2 * half_width(linear(answers, None), thirty))
        told.append(printed(answers, SIX_BY_FIVE))
        seen.append(printed(WORLD.answers(rng, 200, 6, 2), np.arange(6)))
    truth = (WORLD.samples**2, WORLD.wordings**2, WORLD.cells**2)
    assert np.mean(found, axis=0) == pytest.approx(truth, rel=0.2)
    # six unlike wordings give what is planned for them; thirty in six families hardly more, and not what thirty would
    assert np.mean(planned) == pytest.approx(np.mean(seen), rel=0.1)
    assert np.mean(planned) == pytest.approx(np.mean(told), rel=0.15)
    assert np.mean(by_wordings) < 0.65 * np.mean(told)


def test_sensitivity_has_families_for_units_too() -> None:
    # wordings 2k and 2k + 1 are answered alike: the table of either half is the whole
    rng = np.random.default_rng(3)
    labels = np.where(rng.random((30, 6)) < 0.6, rng.integers(0, 3, (30, 1)), rng.integers(0, 3, (30, 6)))
    doubled = np.repeat(labels, 2, axis=1)
    sample, wording = np.nonzero(np.ones(labels.shape))
    of_six = sensitivity_components(sample, wording, labels[sample, wording], np.ones(180), 4)
    sample, wording = np.nonzero(np.ones(doubled.shape))
    of_twelve = sensitivity_components(sample, wording, doubled[sample, wording], np.ones(360), 4, wording // 2)
    assert str(of_twelve) == str(of_six)  # which has a NaN


def test_too_few_families_have_no_components() -> None:
    sample, wording = np.nonzero(np.ones((4, 6)))
    with pytest.raises(ValueError, match="need 2 samples and 2 wordings, these are 4 and 1"):
        linear_components(sample, wording, np.ones(24), np.full(24, np.nan), np.ones(24, int), np.zeros(24, int))
    with pytest.raises(ValueError, match="3 wordings and 2 classes, these are 2 and 3"):
        sensitivity_components(sample, wording, wording % 2, np.ones(24), 3, wording % 2)
