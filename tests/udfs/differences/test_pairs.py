"""The test of two runs and the words for it: worked examples, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.differences.alike_nights import NO_SPREAD, NightSpread
from promptaudit.udfs.differences.detectable import detectable_difference
from promptaudit.udfs.differences.difference import KEPT, WordingsError
from promptaudit.udfs.differences.pairs import AlikeNights, Clusters, Compared, compare_churn, compare_values
from promptaudit.udfs.differences.verdict import adjusted, difference_verdict

N, Q = 40, 12


def alike(values: NDArray[np.float64], spread: NightSpread = NO_SPREAD) -> AlikeNights:
    """Normal nights of these values, shape (n_nights, n_samples), the oldest first; the base is the last of them."""
    n_nights, n = values.shape
    ages = np.arange(n_nights, 0, -1).repeat(n)
    return AlikeNights(ages.tolist(), list(range(n)) * n_nights, values.ravel().tolist(), spread, spread)


def compared(
    values: NDArray[np.float64],
    nights: AlikeNights,
    *,
    are_kept: bool = True,
    are_apart: bool = True,
    wordings: WordingsError = KEPT,
    cluster: NDArray[np.int64] | None = None,
    is_rate: bool = True,
) -> Compared:
    return compare_values(
        np.arange(values.shape[1]),
        cluster,
        values,
        Q,
        nights,
        wordings=wordings,
        is_rate=is_rate,
        are_kept=are_kept,
        are_apart=are_apart,
        ages=(1, 0),
    )


def test_a_steady_provider_that_loses_samples() -> None:
    steady, found = np.ones((8, N)), {}
    for n_lost in (1, 4):
        now = np.ones(N)
        now[:n_lost] = 0
        found[n_lost] = compared(np.stack([np.ones(N), now]), alike(steady))
    # alone one odd night of nine: p is 1/9, whatever the error; four of them 9^-4
    assert (found[1].difference, found[1].p_value) == pytest.approx((-0.025, 1 / 9))
    assert found[4].p_value == pytest.approx(9.0**-4)
    # 1 / (Q^2 n (n - 1)): one flip of one sample is the error of what never varied
    assert found[1].standard_error == pytest.approx(np.sqrt(4.4516e-6), rel=1e-4)
    assert (found[1].degrees_of_freedom, found[1].n_alike_nights) == (39, 8)
    # without normal nights by the spread over samples
    now = np.ones(N)
    now[0] = 0
    apart = compared(np.stack([np.ones(N), now]), AlikeNights())
    assert apart.standard_error**2 == pytest.approx(6.2945e-4, rel=1e-4)
    assert (apart.p_value, apart.n_alike_nights) == (pytest.approx(0.325, abs=1e-3), 0)


def test_other_wordings_and_other_nights_add_to_the_error() -> None:
    rng = np.random.default_rng(2)
    values = rng.random((2, N))
    plain = compared(values, AlikeNights(), are_kept=False, are_apart=False)
    excess = WordingsError(2e-4, 5e-4, 11)
    wide = compared(values, AlikeNights(), are_kept=False, are_apart=False, wordings=excess)
    assert wide.standard_error**2 == pytest.approx(plain.standard_error**2 + 2e-4)
    total, own = wide.standard_error**2, plain.standard_error**2
    assert wide.degrees_of_freedom == pytest.approx(max(11, total**2 / (own**2 / 39 + 5e-4**2 / 11)))
    # nights that wander by themselves: tau^2 = (phi^2 - 1) gamma / n, of either side
    nights = alike(rng.random((8, N)), NightSpread(21, 7))
    apart = compared(values, nights, are_kept=False)
    assert apart.night_sd > 0
    assert apart.standard_error**2 == pytest.approx(plain.standard_error**2 + 2 * apart.night_sd**2)
    assert apart.n_alike_nights == 8


def test_exchanged_the_signs_turn_and_nothing_else() -> None:
    rng = np.random.default_rng(3)
    values, nights = rng.random((2, N)), alike(rng.random((6, N)), NightSpread(9, 5))
    for kind in ({"is_rate": True}, {"is_rate": False}, {"are_kept": False}):
        forth, back = compared(values, nights, **kind), compared(values[::-1], nights, **kind)
        assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))
        assert (back.p_value, back.standard_error) == pytest.approx((forth.p_value, forth.standard_error))
    order = rng.permutation(N)
    shuffled = nights._replace(value=np.reshape(nights.value, (6, N))[:, order].ravel().tolist())
    assert compared(values[:, order], shuffled) == pytest.approx(compared(values, nights), nan_ok=True)


def test_a_run_against_itself_is_the_same() -> None:
    values, nights = np.tile(np.random.default_rng(4).random(N), (2, 1)), alike(np.full((6, N), 0.5))
    found = compared(values, nights)
    assert (found.difference, found.p_value) == (0, 1)
    assert difference_verdict(0.0, found.low, found.high, 1.0, 0.02, -1, False, False) == "same"


def test_few_samples_or_clusters_have_no_interval() -> None:
    values = np.random.default_rng(5).random((2, 9))
    found = compared(values, AlikeNights())
    assert found.reason == "too few samples: 10 are needed"
    assert np.isnan(found.p_value)
    assert found.difference == pytest.approx(float((values[1] - values[0]).mean()))
    values = np.random.default_rng(5).random((2, 36))
    assert compared(values, AlikeNights(), cluster=np.arange(36) // 4).reason is not None
    assert compared(values, AlikeNights(), cluster=np.arange(36) // 3).reason is None
    assert Clusters([0, 1, 2], [0, 0, 2]).of(np.array([2, 1])) is None
    assert Clusters([0, 1, 2], [0, 0, 2]).of(np.array([0, 1])).tolist() == [0, 0]  # type: ignore[union-attr]


def churned(across: float, normal: dict[int, float], lag: int, within: float = np.nan) -> Compared:
    """Disagreement across two runs against that of normal nights by their lag, four pairs of each; it wobbles a little."""
    wobble = 0.005 * np.sin(np.arange(N))
    lags = [k for k in normal for _ in range(4)]
    apart = np.array([normal[k] + wobble * (-1) ** i for i, k in enumerate(lags)]).reshape(len(lags), N)
    return compare_churn(None, np.full(N, within), across + wobble, Q, lag, apart, np.array(lags, np.int64))


def test_churn_is_held_against_nights_as_far_apart() -> None:
    kept = {1: 0.05, 2: 0.10, 3: 0.15, 4: 0.20}  # of answers that are kept, a part drawn anew each night
    assert churned(0.05, kept, 1).p_value > 0.3
    assert churned(0.20, kept, 4).p_value > 0.3
    found = churned(0.20, kept, 1)
    assert found.p_value < 1e-6
    assert found.difference == pytest.approx(0.20 - 0.05, abs=1e-3)
    far = churned(0.45, kept, 9)
    assert far.reason == "answers wander further each night, and no two normal nights are this far apart"
    assert far.n_alike_nights == 0
    level = dict.fromkeys(range(1, 5), 0.1)
    assert churned(0.1, level, 9).reason is None
    # without normal nights by repetitions within the runs, which says nothing of nights
    alone = churned(0.2, {}, 1, within=0.1)
    assert (alone.n_alike_nights, alone.difference) == (0, pytest.approx(0.1, abs=1e-3))
    assert churned(0.2, {}, 1).reason == "asked once, and no normal nights: noise and change cannot be told apart"


def test_p_values_are_adjusted_as_benjamini_and_hochberg_do() -> None:
    assert adjusted(np.array([0.001, 0.02, np.nan, 0.03, 0.5])) == pytest.approx(
        [0.004, 0.04, np.nan, 0.04, 0.5], nan_ok=True
    )
    assert len(adjusted(np.array([]))) == 0


@pytest.mark.parametrize(
    ("difference", "low", "high", "q", "worse", "verdict"),
    [
        (-0.006, -0.015, 0.003, 0.3, -1, "same"),
        (-0.015, -0.028, -0.002, 0.3, -1, "none_shown"),
        (-0.03, -0.05, -0.01, 0.02, -1, "regressed"),
        (-0.03, -0.05, -0.01, 0.02, 1, "improved"),
        (-0.03, -0.05, -0.01, 0.02, 0, "changed"),
        (0.03, 0.01, 0.05, 0.051, 1, "none_shown"),
        (-0.015, -0.019, -0.011, 0.0001, -1, "same"),  # beyond chance, and too small to count
    ],
)
def test_the_ladder(difference: float, low: float, high: float, q: float, worse: int, verdict: str) -> None:
    assert difference_verdict(difference, low, high, q, 0.02, worse, False, False) == verdict
    unknown = difference_verdict(difference, low, high, q, 0.02, worse, True, False)
    assert unknown == ("none_shown" if verdict in ("same", "none_shown") else "unconfirmed")


def test_less_churn_than_usual_is_no_change() -> None:
    assert difference_verdict(-0.1, -0.12, -0.08, 1.0, 0.02, 0, False, True) == "same"
    assert difference_verdict(0.1, 0.08, 0.12, 0.001, 0.02, 0, False, True) == "changed"


def test_detectable_difference_by_hand() -> None:
    many = 1e6  # where t is normal: .9 lies below 1.281552
    assert detectable_difference(0.01, many, 1, 0) == pytest.approx((1.959964 + 1.281552) * 0.01, abs=1e-6)
    # 1 - .025/50 = .9995 lies at 3.290527, 1 - .05/50 = .999 at 3.090232
    assert detectable_difference(0.01, many, 50, 0) == pytest.approx((3.290527 + 1.281552) * 0.01, abs=1e-6)
    assert detectable_difference(0.01, many, 50, 0, tail=0.05) == pytest.approx((3.090232 + 1.281552) * 0.01, abs=1e-6)
    # beyond the smallest effect that counts
    assert detectable_difference(0.01, many, 1, 0.02) == pytest.approx(0.02 + 0.01281552, abs=1e-7)
    assert detectable_difference(0, 4, 1, 0.02) == 0.02
    assert np.isnan(detectable_difference(np.nan, 4, 1, 0.02))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        detectable_difference(0.01, 4, 0, 0.02)
