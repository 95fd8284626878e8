"""Two nights at the looks of the later one: differences of samples, decisions by hand, and how often they err."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import norm, t

from tests.udfs.comparison.plain_runs import random_answers
from udfs.comparison import compare_answers
from udfs.comparison.detectable import detectable_difference
from udfs.comparison.measured import MeanDifference
from udfs.designs.stopping_pairs import WATCHED, PairLook, night_at, pair_at, watched_differences

Floats = NDArray[np.float64]


def of_samples(by_sample: Floats) -> MeanDifference:
    """A difference of which nothing is known by wordings."""
    return MeanDifference(by_sample, np.empty(0))


def around(mean: float, error: float, n: int) -> MeanDifference:
    """The difference of n samples, an even number, with this mean and this standard error of it."""
    return of_samples(mean + error * np.sqrt(n - 1) * np.resize([1.0, -1.0], n))


def look_of(look: int, mean: float, error: float = 0.004, n: int = 10_000, **options: bool) -> PairLook:
    return pair_at(look, around(mean, error, n), min_effect=0.02, n_comparisons=1, **options)


@pytest.mark.parametrize("seed", range(20))
def test_means_of_the_samples_are_the_differences_that_runs_are_compared_by(seed: int) -> None:
    columns = random_answers(seed)
    found = watched_differences(*columns, n_classes=4)
    compared = {
        row.measure: row
        for row in compare_answers(
            *columns, n_classes=4, level="nominal", numbers=np.arange(3.0), seed=1, n_resamples=20
        )
    }
    assert set(found) == set(WATCHED)
    for measure, (by_sample, _) in found.items():
        assert by_sample.mean() == pytest.approx(compared[measure].difference, abs=1e-12)
        assert len(by_sample) == compared[measure].n_samples
    churn = found["label_churn"].by_sample
    error = churn.std(ddof=1) / np.sqrt(len(churn))
    assert error == pytest.approx(compared["label_churn"].standard_error)


def test_by_hand_of_two_samples_one_of_which_has_a_missing_cell() -> None:
    # gold A. Sample 0: A A then B A; sample 1: A - then B -. Under wording 0 both go from right to wrong, under wording 1
    # the one that is asked stays right: the mean over wordings of their means is (-1 + 0) / 2
    side, sample, variant = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]]).T
    label = np.array([0, 0, 0, 1, 0, 1])
    same = np.zeros(6, np.int64)
    found = watched_differences(side, sample, variant, same - 1, variant == 0, same + 1, label, same, n_classes=3)
    assert found["micro_f1"].by_sample == pytest.approx([-0.5, -0.5])
    # one sample has two wordings: from unanimous to evenly split among three classes
    assert found["sensitivity"].by_sample == pytest.approx([np.log(2) / np.log(3)])
    # without wording 0 nothing differs, without wording 1 everything
    assert found["micro_f1"].without_wording == pytest.approx([0, -1])
    assert np.isnan(found["sensitivity"].without_wording).all()
    assert "label_churn" not in found  # noise of cells asked once is unknown


def test_other_wordings_and_nothing_in_common_are_not_watched() -> None:
    assert watched_differences(*random_answers(1, redrawn=True, q=12), n_classes=4) == {}
    columns = random_answers(1)
    columns[1] = columns[1] + 1000 * columns[0]
    assert watched_differences(*columns, n_classes=4) == {}


def test_figures_by_hand() -> None:
    found = look_of(2, -0.03, 0.01, 400)
    of_whole = 0.01 * 0.4**0.5
    need = max(1.96 * of_whole, 0.02)
    to_come = detectable_difference(of_whole, 999, 1, 0.02)
    missing = need - 0.4 * 0.03 - 0.6 * to_come
    assert (found.difference, found.standard_error) == pytest.approx((-0.03, 0.01))
    assert found.z == pytest.approx(norm.ppf(t.cdf(-3, 399)))
    assert found.need == pytest.approx(need)
    assert found.power == pytest.approx(norm.sf(missing / (of_whole * 0.6**0.5)))
    assert (found.n_samples, found.decision) == (400, None)


@pytest.mark.parametrize("look", [1, 2, 3, 4])
def test_moved_is_beyond_the_bound_of_the_look(look: int) -> None:
    # 1.04 * 1.96 / sqrt(k / 5); far beyond min_effect
    bound = 2.0384 / (look / 5) ** 0.5
    assert look_of(look, 0.1, 0.1 / (bound * 1.01)).decision == "moved"
    assert look_of(look, -0.1, 0.1 / (bound * 1.01)).decision == "moved"
    assert look_of(look, 0.1, 0.1 / (bound * 0.99)).decision is None


def test_moved_is_likely_to_be_min_effect_in_the_whole_night() -> None:
    # above min_effect by 1.28 standard errors of .001, times sqrt(1 - .4): .02099
    assert look_of(2, 0.02100, 0.001).decision == "moved"
    assert look_of(2, 0.02098, 0.001).decision is None


def test_quiet_is_what_the_rest_of_the_night_would_hardly_mend() -> None:
    # the whole night's SE is .004 sqrt(.6); the rest may differ by .02 + 1.28 SE
    of_whole = 0.004 * 0.6**0.5
    room = 0.02 - 0.4 * (0.02 + 1.2816 * of_whole) - 1.2816 * of_whole * 0.4**0.5
    assert look_of(3, room / 0.6 - 0.0002).decision == "quiet"
    assert look_of(3, -room / 0.6 + 0.0002).decision == "quiet"
    assert look_of(3, room / 0.6 + 0.0002).decision is None


def test_nothing_is_quiet_at_the_first_look_and_nothing_decided_at_the_last() -> None:
    assert pair_at(1, of_samples(np.zeros(100)), min_effect=0.02, n_comparisons=4).decision is None
    assert pair_at(2, of_samples(np.zeros(200)), min_effect=0.02, n_comparisons=4).decision == "quiet"
    assert look_of(5, 0.5).decision is None
    assert look_of(5, 0.0).decision is None


def test_samples_that_all_move_alike_are_as_good_as_their_sign_test() -> None:
    def decision(n: int) -> str | None:
        return pair_at(3, of_samples(np.full(n, 0.1)), min_effect=0.02, n_comparisons=8).decision

    # z_{1-.025/8} 1.04 / sqrt(.6) is 3.672: 2^-n of 13 samples is 1.2e-4, of 14 below its tail
    assert norm.isf(2.0**-13) < norm.isf(0.025 / 8) * 1.04 / 0.6**0.5 < norm.isf(2.0**-14)
    assert decision(13) is None
    assert decision(14) == "moved"


@pytest.mark.parametrize(("error", "decision"), [(0.0232, "moved"), (0.0233, None), (0.0, "moved")])
def test_what_moved_has_moved_under_all_wordings_alike(error: float, decision: str | None) -> None:
    # three wordings leave 2 degrees of freedom, t_{.975} = 4.3027: .1 lies that far out at an error of .02324
    # the jackknife's variance is 2/3 of the sum of squares, here of -e, 0 and e
    spread = error * (3 / 4) ** 0.5 * np.array([-1.0, 0, 1])
    found = MeanDifference(around(0.1, 0.001, 1000).by_sample, 0.1 + spread)
    assert pair_at(4, found, min_effect=0.02, n_comparisons=1).decision == decision


def test_less_churn_than_noise_is_no_change() -> None:
    assert look_of(3, -0.3, is_one_sided=True).decision == "quiet"
    assert look_of(3, 0.3, is_one_sided=True).decision == "moved"
    # one tail of .05
    bound = 1.04 * norm.isf(0.05) / 0.4**0.5
    assert look_of(2, 0.1, 0.1 / (bound * 1.01), is_one_sided=True).decision == "moved"
    assert look_of(2, 0.1, 0.1 / (bound * 0.99), is_one_sided=True).decision is None


def test_below_two_samples_there_is_no_scatter() -> None:
    alone, none = (pair_at(2, of_samples(np.full(n, 0.5)), min_effect=0.02, n_comparisons=1) for n in (1, 0))
    assert (alone.decision, none.decision) == (None, None)
    assert alone.difference == 0.5
    assert np.isnan(none.difference)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="look must be 1 to 5"):
        pair_at(6, of_samples(np.zeros(9)), min_effect=0.02, n_comparisons=1)
    with pytest.raises(ValueError, match="n_comparisons must be at least 1"):
        pair_at(1, of_samples(np.zeros(9)), min_effect=0.02, n_comparisons=0)


@given(
    st.integers(1, 5), arrays(np.float64, st.integers(2, 30), elements=st.floats(-1, 1)), st.sampled_from([0.0, 0.02])
)
def test_base_and_candidate_exchanged_decide_alike(look: int, difference: Floats, min_effect: float) -> None:
    one, other = (
        pair_at(look, of_samples(d), min_effect=min_effect, n_comparisons=3) for d in (difference, -difference)
    )
    assert one.decision == other.decision
    assert one.z == -other.z
    assert one.power == other.power


def test_a_night_has_moved_with_any_measure_and_is_quiet_with_all() -> None:
    moved, quiet, unknown = look_of(3, 0.3), look_of(3, 0.0), look_of(3, 0.02)
    assert [each.decision for each in (moved, quiet, unknown)] == ["moved", "quiet", None]
    assert night_at([quiet, unknown, moved]) == "moved"
    assert night_at([quiet, quiet]) == "quiet"
    assert night_at([quiet, unknown]) is None
    assert night_at([]) is None


def stopped(differences: Floats, m: int) -> tuple[str | None, int]:
    for look in range(1, 6):
        found = pair_at(
            look, of_samples(differences[: len(differences) * look // 5]), min_effect=0.02, n_comparisons=m
        ).decision
        if found:
            return found, look
    return None, 5


@pytest.mark.parametrize("n", [30, 100, 500])
def test_nights_that_do_not_differ_hardly_ever_move(n: int) -> None:
    """Most samples answer alike on both nights, others otherwise in a few of 12 wordings."""
    rng = np.random.default_rng(n)
    nights = [rng.binomial(12, 0.3, n) * rng.choice([0, 0, 0, -1, 1], n) / 12 for _ in range(1000)]
    decisions = [stopped(differences, 1) for differences in nights]
    assert (
        np.mean([decision == "moved" for decision, _ in decisions]) <= 0.035
    )  # the first four of five looks at .05 spend .024
    assert np.mean([look for _, look in decisions]) <= 4.6


def test_a_large_difference_is_found_for_half_of_the_requests() -> None:
    rng = np.random.default_rng(3)
    decisions = [stopped(rng.normal(-0.057, 0.16, 500), 4) for _ in range(400)]
    assert np.mean([decision == "moved" for decision, _ in decisions]) >= 0.99
    assert np.mean([look for _, look in decisions]) / 5 <= 0.5


def test_a_difference_at_min_effect_is_not_called_one_because_a_look_was_lucky() -> None:
    rng = np.random.default_rng(4)
    nights = rng.normal(0.014, 0.075, (600, 500))  # as churn of 500 samples scatters: whole nights are .0034 off
    called = np.array([stopped(night, 4)[0] == "moved" for night in nights])
    is_called_by_all = nights.mean(axis=1) >= 0.02
    assert is_called_by_all.mean() > 0.02
    assert (called & ~is_called_by_all).mean() <= 0.02
