"""Kappas by hand, as properties, and beside those of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]

from promptaudit.udfs.raters.kappa import Agreement, agreement, cohen_kappa, fleiss_kappa
from tests.support.plain_krippendorff import krippendorff_alpha

Ratings = NDArray[np.int64]

# ten items, fourteen raters, five categories: the table in which Fleiss' kappa is usually explained
FOURTEEN_RATERS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)


def agreement_of(ratings: Ratings, times: Ratings | None = None) -> Agreement:
    """Of items x raters, -1 where a rater gave none; each item counts once, or as often as `times` says."""
    item, rater = np.indices(ratings.shape).reshape(2, -1)
    times = np.ones(len(ratings), np.int64) if times is None else times
    return agreement(item, rater, ratings.ravel(), times[item])


def table_of(ratings: Ratings, n_categories: int) -> Ratings:
    return np.array([np.bincount(row, minlength=n_categories) for row in ratings])


def random_ratings(seed: int, n_items: int, n_raters: int, n_categories: int) -> Ratings:
    """Raters who keep to a true category in six of ten cases."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_categories, (n_items, 1))
    given_freely = rng.integers(0, n_categories, (n_items, n_raters))
    return np.where(rng.random(given_freely.shape) < 0.6, truth, given_freely)


def test_two_raters_by_hand() -> None:
    # 20 both yes, 5 yes/no, 10 no/yes, 15 both no: p_o .7, p_e .5 * .6 + .5 * .4 = .5
    first = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    second = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert cohen_kappa(first, second) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    got = agreement_of(np.stack([first, second], axis=1))
    assert got.cohen_kappa == pytest.approx(0.4)
    assert (got.agreement_rate, got.perfect_agreement_rate, got.n_rated) == (0.7, 0.7, 50)
    # Fleiss pools both raters' shares: yes 55 of 100, p_e .55^2 + .45^2
    assert got.fleiss_kappa == pytest.approx((0.7 - 0.505) / (1 - 0.505))


def test_fourteen_raters_by_hand() -> None:
    # P_i: 1, .253, .308, .440, .330, .462, .242, .176, .286, .286, mean .378
    # shares of the categories .143, .200, .279, .150, .229: P_e .213
    assert FOURTEEN_RATERS.sum(axis=0) / 140 == pytest.approx([0.143, 0.200, 0.279, 0.150, 0.229], abs=1e-3)
    assert fleiss_kappa(FOURTEEN_RATERS) == pytest.approx((0.378 - 0.213) / (1 - 0.213), abs=1e-3)
    assert fleiss_kappa(FOURTEEN_RATERS) == pytest.approx(0.210, abs=5e-4)


def test_three_raters_one_of_whom_left_items_out() -> None:
    ratings = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 0, -1], [0, 1, 1]])
    got = agreement_of(ratings)
    # pairs that agree on the four items: 3, 1, 3, 1 of 3
    assert got.agreement_rate == pytest.approx((3 + 1 + 3 + 1) / 12)
    assert got.perfect_agreement_rate == pytest.approx(2 / 4)
    assert got.n_rated == 4
    # six of twelve ratings are 1: P_e .5
    assert got.fleiss_kappa == pytest.approx((8 / 12 - 0.5) / 0.5)
    assert np.isnan(got.cohen_kappa)


def test_one_category_leaves_the_rates() -> None:
    got = agreement_of(np.ones((5, 2), np.int64))
    assert np.isnan([got.cohen_kappa, got.fleiss_kappa]).all()
    assert (got.agreement_rate, got.perfect_agreement_rate) == (1, 1)
    # one rater without variation is no better than chance, which is defined
    assert cohen_kappa(np.array([1, 1, 1]), np.array([1, 0, 1])) == 0
    assert cohen_kappa(np.array([0, 0]), np.array([1, 1])) == 0


def test_edges() -> None:
    empty = np.empty(0, np.int64)
    assert np.isnan(cohen_kappa(empty, empty))
    assert np.isnan(fleiss_kappa(np.empty((0, 2), np.int64)))
    assert np.isnan(fleiss_kappa(np.array([[1, 0], [0, 1]])))
    with pytest.raises(ValueError, match="equally many raters, got 2 to 3"):
        fleiss_kappa(np.array([[2, 0], [2, 1]]))
    none = np.array([[0, 0, -1], [1, 1, -1]])  # of the third rater
    for ratings, n_rated in ((np.zeros((3, 1), np.int64), 3), (np.array([[0, -1], [-1, 1]]), 0), (none, 0)):
        got = agreement_of(ratings)
        assert np.isnan(got[:4]).all()
        assert got.n_rated == n_rated
    assert agreement(empty, empty, empty, empty).n_rated == 0


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 6), st.integers(2, 4))
@settings(max_examples=50)
def test_names_and_order_change_nothing(seed: int, n_items: int, n_raters: int, n_categories: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = random_ratings(seed, n_items, n_raters, n_categories)
    ratings[rng.random(ratings.shape) < 0.1] = -1
    ratings[:, (ratings < 0).all(axis=0)] = 0  # who never rated is no rater, and has no number
    renamed = np.where(ratings < 0, -1, rng.permutation(n_categories)[ratings])
    shuffled = renamed[rng.permutation(n_items)][:, rng.permutation(n_raters)]
    assert agreement_of(shuffled) == pytest.approx(agreement_of(ratings), abs=1e-12, nan_ok=True)


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=50)
def test_an_item_that_counts_three_times_is_three_items(
    seed: int, n_items: int, n_raters: int, n_categories: int
) -> None:
    ratings = random_ratings(seed, n_items, n_raters, n_categories)
    times = np.random.default_rng(seed).integers(1, 4, n_items)
    repeated = agreement_of(np.repeat(ratings, times, axis=0))
    assert agreement_of(ratings, times) == pytest.approx(repeated, abs=1e-12, nan_ok=True)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 6), st.integers(2, 5))
@settings(max_examples=50)
def test_equals_statsmodels(seed: int, n_items: int, n_raters: int, n_categories: int) -> None:
    ratings = random_ratings(seed, n_items, n_raters, n_categories)
    ratings[0, :2] = 0, 1  # where all ratings are one category they do not agree on what is undefined
    got = agreement_of(ratings)
    counts = table_of(ratings, n_categories)
    assert got.fleiss_kappa == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)
    joint = np.zeros((n_categories, n_categories))
    np.add.at(joint, (ratings[:, 0], ratings[:, 1]), 1)
    expected = inter_rater.cohens_kappa(joint, return_results=False)
    assert cohen_kappa(ratings[:, 0], ratings[:, 1]) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 6))
@settings(max_examples=50)
def test_krippendorff_s_alpha_is_fleiss_kappa_with_one_rating_s_worth_more(
    seed: int, n_items: int, n_raters: int
) -> None:
    ratings = random_ratings(seed, n_items, n_raters, 3)
    ratings[0, :2] = 0, 1
    kappa = agreement_of(ratings).fleiss_kappa
    # chance without replacement: 1 - alpha = (1 - kappa) (1 - 1/(N n))
    expected = kappa + (1 - kappa) / (n_items * n_raters)
    assert krippendorff_alpha(ratings.tolist(), "nominal") == pytest.approx(expected, abs=1e-12)


def test_perfect_agreement_and_none() -> None:
    rng = np.random.default_rng(0)
    same = np.repeat(rng.integers(0, 3, (50, 1)), 4, axis=1)
    assert agreement_of(same)[1:4] == pytest.approx((1, 1, 1))
    assert agreement_of(same[:, :2]).cohen_kappa == 1
    free = rng.integers(0, 3, (20_000, 2))
    # standard error about sqrt(p_o (1 - p_o) / n) / (1 - p_e) = .005
    assert agreement_of(free)[:2] == pytest.approx((0, 0), abs=0.02)
    # two raters who always differ, each half and half
    opposite = np.stack([np.arange(10) % 2, 1 - np.arange(10) % 2], axis=1)
    assert agreement_of(opposite)[:2] == pytest.approx((-1, -1))
