"""How PSS changes with the temperature of the rephraser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from promptaudit.udfs.differences.trend import Trend, stability_trend
from promptaudit.udfs.sql_types import Words
from promptaudit.udfs.stability.krippendorff import Level

LABELS = ("0", "1", "2")


def trend(
    answers: dict[float, np.ndarray[tuple[int, int], np.dtype[np.int64]]], cluster: int = 1, level: Level = "nominal"
) -> Trend:
    """The trend of answers of shape (n_wordings, n_samples) at each temperature; neighbouring samples in clusters."""
    parts = [
        (np.full(labels.size, at), *(each.ravel() for each in np.indices(labels.shape)), labels.ravel())
        for at, labels in answers.items()
    ]
    temperature, annotator, sample, label = (np.concatenate(each) for each in zip(*parts, strict=True))
    small = [each.astype(np.int32) for each in (sample, annotator, 0 * sample, sample // cluster * cluster)]
    return stability_trend(
        temperature.astype(np.float64),
        small[0],
        small[1],
        small[2],
        Words(label.astype(np.int64), LABELS),
        small[3],
        level,
    )


def test_the_line_through_three_temperatures() -> None:
    # of three wordings one says otherwise of 0, 4 and 6 of 12 samples, as often of either label: two pairs of three differ
    alike = np.tile(np.arange(12) % 2, (3, 1))
    some, many = alike.copy(), alike.copy()
    some[1, [0, 1, 4, 5]] = 1 - some[1, [0, 1, 4, 5]]
    many[1, [0, 1, 4, 5, 8, 9]] = 1 - many[1, [0, 1, 4, 5, 8, 9]]
    expected = 2 * 18 * 18 / (36 * 35)
    alphas = [1 - 2 / 3 * n / 12 / expected for n in (0, 4, 6)]
    found = trend({0.0: alike, 1.0: some, 3.0: many})
    assert found.difference == pytest.approx(3 * np.polyfit([0, 1, 3], alphas, 1)[0], abs=1e-12)
    assert (found.n_temperatures, found.n_samples, found.reason) == (3, 12, None)
    assert found.low < found.difference < found.high
    again = trend({3.0: many[::-1], 0.0: alike, 1.0: some})
    np.testing.assert_allclose(again[:4], found[:4])


def test_what_has_no_line_or_no_interval() -> None:
    alike = np.tile(np.arange(12) % 2, (3, 1))
    odd = alike.copy()
    odd[1, :4] = 2
    nothing = np.zeros((3, 12), np.int64) - 1  # can be paired
    for one in (trend({1.0: odd}), trend({1.0: nothing, 2.0: odd})):
        assert (one.reason, one.n_temperatures) == ("fewer than two temperatures have a PSS", 1)
    few = trend({1.0: alike, 2.0: odd})
    assert (few.reason, np.isnan(few.low)) == ("too few samples disagree", True)
    two = trend({1.0: alike[:2], 2.0: 1 - alike[:2] * np.array([[1], [0]])})
    assert (two.reason, np.isnan(two.p_value)) == ("too few wordings: 3 are needed at each temperature", True)
    small = trend({1.0: alike[:, :9], 2.0: 1 - alike[:, :9] * (np.arange(9) > 2)})
    assert small.reason == "too few samples: 10 are needed"


@pytest.mark.parametrize("cluster", [1, 4])
@pytest.mark.parametrize("warmer", [0.0, 0.08])
def test_a_fall_is_found_and_none_is_made_up(warmer: float, cluster: int) -> None:
    rng, n_worlds, n, n_found = np.random.default_rng(8), 60, 40, 0
    for _ in range(n_worlds):
        base = np.repeat(rng.normal(0, 1.5, (n // cluster, 3)), cluster, axis=0)
        answers = {}
        for at in (0.1, 1.5, 3.0, 4.5):
            noise = 0.3 + warmer * at
            shift, spread = rng.normal(0, noise, (6, 1, 3)), rng.gumbel(0, noise, (6, n, 3))
            answers[at] = (base + shift + spread).argmax(axis=2)
        found = trend(answers, cluster)
        n_found += found.p_value <= 0.05 and (warmer == 0 or found.difference < 0)
    if warmer:
        assert n_found >= n_worlds / 2
    else:
        assert n_found <= binom.ppf(0.9999, n_worlds, 0.05)
