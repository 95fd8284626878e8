"""Rules of a gate at the looks of a run: bounds by hand, decisions, and how often chance passes one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from udfs.designs.stopping import (
    FEWEST_SAMPLES,
    N_LOOKS,
    Scale,
    bounds_at,
    critical_value,
    rule_at,
    scale_of,
    widening,
)
from udfs.two_way import two_way_interval

MANY = 1000
NAN = float("nan")
SHARES = st.floats(0, 1)


def test_critical_values_by_hand() -> None:
    # 2.040 sqrt(5 / k)
    found = [critical_value(look) for look in range(1, 6)]
    assert found == pytest.approx([4.5616, 3.2255, 2.6336, 2.2808, 2.0400], abs=5e-5)


def test_the_last_look_is_what_a_run_without_looks_would_be() -> None:
    assert widening(1) == pytest.approx(4.5616 / 1.96, abs=1e-4)
    assert all(widening(k) > widening(k + 1) for k in range(1, N_LOOKS))
    assert widening(N_LOOKS) == 1
    assert bounds_at(N_LOOKS, 0.5, 0.4, 0.7, n_samples=2) == (0.4, 0.7)


@pytest.mark.parametrize("look", [0, 6, -1])
def test_there_are_five_looks(look: int) -> None:
    with pytest.raises(ValueError, match="look must be 1 to 5"):
        bounds_at(look, 0.5, 0.4, 0.6, n_samples=MANY)


def test_each_side_is_widened_from_the_estimate() -> None:
    # 3.2255 / 1.96 = 1.64566
    assert bounds_at(2, 0.3, 0.25, 0.4, n_samples=MANY) == pytest.approx((0.3 - 0.0822830, 0.3 + 0.1645660), abs=1e-5)
    # a figure of any unit keeps its own room
    assert bounds_at(1, 340.0, 340.0, 380.0, n_samples=MANY).high == pytest.approx(340 + 40 * 4.5616 / 1.96, abs=1e-2)


def test_a_rate_stays_between_nothing_and_all() -> None:
    assert bounds_at(1, 0.5, 0.2, 0.9, n_samples=MANY, scale="rate") == (0, pytest.approx(1))
    assert bounds_at(1, 0.5, 0.2, 0.9, n_samples=MANY).low < 0


def test_a_rate_that_few_samples_bear_is_held_to_have_one_more_by_hand() -> None:
    # 100 samples at .1: 10 bear it. The upper bound with one more sample of 1: a = 1/101, room .9
    added = 0.9 / 101
    expected = 0.1 + added + 1.64566 * np.hypot(0.06, student.ppf(0.975, 99) * added)
    assert bounds_at(2, 0.1, 0.04, 0.16, n_samples=100, scale="rate").high == pytest.approx(expected, abs=1e-5)
    # at .2 there are 20
    assert bounds_at(2, 0.2, 0.1, 0.3, n_samples=100, scale="rate").high == pytest.approx(0.2 + 1.64566 * 0.1, abs=1e-5)


def test_samples_that_are_all_alike_leave_doubt_about_the_next_one() -> None:
    found = bounds_at(4, 0.0, 0.0, 0.01, n_samples=400, scale="rate")
    assert found.low == 0
    assert found.high > 0.01 * widening(4)


def test_pss_is_widened_on_its_logarithm_by_hand() -> None:
    # 1 - alpha: .2, bounds .1 and .4, a factor of 2 either way; 2^1.64566 = 3.12894
    found = bounds_at(2, 0.8, 0.6, 0.9, n_samples=MANY, scale="log_complement")
    assert found == pytest.approx((1 - 0.2 * 3.12894, 1 - 0.2 / 3.12894), abs=1e-5)
    assert bounds_at(1, 0.2, -0.9, 0.7, n_samples=MANY, scale="log_complement").low == -1


def test_a_bound_of_pss_that_knows_nothing_above_it_stays() -> None:
    assert bounds_at(1, 0.98, 0.9, 1.0, n_samples=MANY, scale="log_complement").high == 1


def test_unanimous_pss_moves_as_one_disagreeing_sample_would() -> None:
    # exp(3.2255 - 1.96) = 3.5449
    found = bounds_at(2, 1.0, 0.95, 1.0, n_samples=MANY, scale="log_complement")
    assert found == (pytest.approx(1 - 0.05 * 3.5449, abs=1e-4), 1)


@pytest.mark.parametrize("bounds", [(NAN, 0.4, 0.6), (0.5, NAN, 0.6), (0.5, 0.4, NAN)])
@pytest.mark.parametrize("scale", ["plain", "rate", "log_complement"])
def test_what_is_undefined_decides_nothing_before_the_last_look(
    bounds: tuple[float, float, float], scale: Scale
) -> None:
    found = rule_at(3, *bounds, n_samples=MANY, part="high", operator="<=", limit=0.9, scale=scale)
    assert found.passes is None


def test_few_samples_decide_nothing_before_the_last_look() -> None:
    def passes(look: int, n_samples: int) -> bool | None:
        return rule_at(look, 0.5, 0.49, 0.51, n_samples=n_samples, part="high", operator="<=", limit=0.9).passes

    assert passes(1, FEWEST_SAMPLES - 1) is None
    assert passes(1, FEWEST_SAMPLES) is True
    assert passes(N_LOOKS, 2) is True


@pytest.mark.parametrize("part", ["figure", "low", "high"])
@pytest.mark.parametrize(
    ("operator", "limit", "passes"),
    # at the second look .3, [.25, .4] is [.2177, .4646]
    [("<=", 0.47, True), ("<=", 0.46, None), ("<=", 0.21, False), ("<=", 0.22, None),
     ("<", 0.47, True), ("<", 0.21, False), (">=", 0.21, True), (">=", 0.22, None), (">=", 0.47, False),
     (">", 0.21, True), (">", 0.47, False)],
)  # fmt: skip
def test_a_rule_is_decided_where_the_whole_interval_is_on_one_side(
    part: str, operator: str, limit: float, passes: bool | None
) -> None:
    found = rule_at(2, 0.3, 0.25, 0.4, n_samples=MANY, part=part, operator=operator, limit=limit)  # type: ignore[arg-type]
    assert found.passes is passes


@pytest.mark.parametrize(
    ("part", "operator", "limit", "passes"),
    [("high", "<=", 0.4, True), ("high", "<", 0.4, False), ("high", "<=", 0.39, False), ("low", ">=", 0.25, True),
     ("low", ">=", 0.26, False), ("figure", "<=", 0.3, True), ("figure", ">", 0.3, False), ("low", "<=", 0.25, True)],
)  # fmt: skip
def test_the_last_look_holds_what_the_rule_names_against_the_limit(
    part: str, operator: str, limit: float, passes: bool
) -> None:
    found = rule_at(5, 0.3, 0.25, 0.4, n_samples=MANY, part=part, operator=operator, limit=limit)  # type: ignore[arg-type]
    assert found.passes is passes


def test_a_rule_on_a_figure_without_an_interval_waits_for_the_last_look() -> None:
    def passes(look: int) -> bool | None:
        return rule_at(look, 3.0, NAN, NAN, n_samples=MANY, part="figure", operator="<=", limit=5).passes

    assert passes(4) is None
    assert passes(5) is True
    assert rule_at(5, NAN, NAN, NAN, n_samples=MANY, part="figure", operator="<=", limit=5).passes is None
    assert rule_at(5, 3.0, NAN, NAN, n_samples=MANY, part="high", operator="<=", limit=5).passes is None


def test_an_interval_without_width_waits_for_the_last_look() -> None:
    def passes(look: int) -> bool | None:
        return rule_at(look, 3.0, 3.0, 3.0, n_samples=MANY, part="figure", operator="<=", limit=5).passes

    assert passes(4) is None
    assert passes(5) is True


def test_the_interval_moves_to_a_published_figure_that_is_not_its_estimate() -> None:
    found = rule_at(2, 0.3, 0.25, 0.35, n_samples=MANY, part="figure", operator="<=", limit=0.36, figure=0.27)
    assert (found.low, found.high) == pytest.approx((0.27 - 0.082283, 0.27 + 0.082283), abs=1e-5)
    assert found.passes is True
    # its bounds are where they are
    assert rule_at(2, 0.3, 0.25, 0.35, n_samples=MANY, part="high", operator="<=", limit=0.36).passes is None
    last = rule_at(5, 0.3, 0.25, 0.35, n_samples=MANY, part="figure", operator="<=", limit=0.28, figure=0.27)
    assert last.passes is True


def test_scales_of_measures() -> None:
    measures = ("pss_inter", "pss_intra", "pss", "micro_f1", "invalid_rate", "sensitivity", "wording_share")
    assert [scale_of(measure) for measure in measures] == [*["log_complement"] * 3, *["rate"] * 2, *["plain"] * 2]


@given(SHARES, SHARES, SHARES, st.integers(20, 5000), st.sampled_from(["plain", "rate", "log_complement"]))
def test_later_looks_never_have_wider_intervals(a: float, b: float, c: float, n: int, scale: Scale) -> None:
    low, estimate, high = sorted((a, b, c))
    found = [bounds_at(look, estimate, low, high, n_samples=n, scale=scale) for look in range(1, 6)]
    for earlier, later in pairwise(found):
        assert earlier.low <= later.low + 1e-12
        assert earlier.high >= later.high - 1e-12


def passing_by_chance(answers: np.ndarray, limit: float) -> tuple[bool, bool, bool]:
    """Whether `x_high <= limit` passes without looks, with them, and with intervals that are not widened at any."""
    n, passes, is_peeked = len(answers), None, False
    for look in range(1, N_LOOKS + 1):
        asked = answers[: n * look // N_LOOKS]
        sample, wording = np.nonzero(np.ones(asked.shape))
        found = two_way_interval(sample, wording, asked[sample, wording])
        is_peeked |= found.high <= limit
        if passes is None:
            passes = rule_at(
                look, found.mean, found.low, found.high,
                n_samples=len(asked), part="high", operator="<=", limit=limit, scale="rate",
            ).passes  # fmt: skip
    return found.high <= limit, bool(passes), is_peeked


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_looks_hardly_raise_the_chance_of_passing_at_the_limit(rate: float) -> None:
    rng = np.random.default_rng(4)
    runs = []
    for _ in range(400):  # half the spread is of samples, as of models that are sure of most answers
        of_sample = rng.beta(rate, 1 - rate, (100, 1))
        runs.append(passing_by_chance((rng.random((100, 6)) < of_sample).astype(float), rate))
    fixed, stopped, peeked = np.mean(runs, axis=0)
    assert stopped <= fixed + 0.01
    assert peeked >= fixed + 0.02
