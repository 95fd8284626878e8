"""What one label adds: counting, sorting and plain loops agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptaudit.udfs.comparison import lattice
from promptaudit.udfs.comparison.lattice import label_terms, lattice_of


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 30), st.integers(0, 5))
@settings(max_examples=40)
def test_counting_and_sorting_as_a_plain_loop(seed: int, steps: int, n: int, n_never: int) -> None:
    rng = np.random.default_rng(seed)
    n_given = rng.integers(0, 4, (3, n))
    total = np.floor(rng.random((3, n)) * (steps * n_given + 1))
    n_samples = (n_given >= 1).sum(axis=1) + n_never
    counted = label_terms(total, n_given, n_samples, steps)
    sorted_ = label_terms(total / steps, n_given, n_samples, None)
    for draw in range(3):
        p = [t / (steps * m) for t, m in zip(total[draw], n_given[draw], strict=True) if m] + [0.0] * n_never
        nats = sum(
            -t / (steps * m) * np.log(t / (steps * m))
            for t, m in zip(total[draw], n_given[draw], strict=True)
            if m >= 2 and t > 0
        )
        distances = sum(abs(x - y) / 2 for x in p for y in p)
        for terms in (counted, sorted_):
            assert terms.nats[draw] == pytest.approx(nats, abs=1e-9)
            assert terms.distances[draw] == pytest.approx(distances, abs=1e-9)


def test_counting_is_what_whole_totals_of_many_samples_get(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(lattice, "_by_sorting", refuse)
    total = np.array([[0.0, 1.0, 2.0, 4.0] * 10])
    # two variants asked twice: shares 0, 1/4, 1/2 and 1, ten samples each
    terms = label_terms(total, np.array([[2]]), np.array([40]), 2)
    assert terms.nats[0] == pytest.approx(10 * (np.log(4) / 4 + np.log(2) / 2))
    # half the sum over ordered pairs: 100 for each of the six pairs of shares
    assert terms.distances[0] == pytest.approx(100 * (1 / 4 + 1 / 2 + 1 + 1 / 4 + 3 / 4 + 1 / 2))


def test_the_lattice_is_the_least_common_multiple_until_it_is_too_fine() -> None:
    assert lattice_of(np.array([10, 2, 2]), 30) == 10
    assert lattice_of(np.array([3, 2]), 30) == 6
    # 2520 parts of 30 variants are 75,600 steps
    assert lattice_of(np.array([7, 8, 9, 10]), 30) is None
