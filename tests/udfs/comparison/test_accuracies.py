"""Accuracy and its spread in two runs, by hand and against every exchange there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.comparison import Compared, compare_accuracies

Table = NDArray[np.float64]

# samples x variants
BASE = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)
CANDIDATE = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 0.5]], float)


def rows_of(
    base: Table, candidate: Table, variants: tuple[int, int] = (0, 0), n_resamples: int = 4000
) -> dict[str, Compared]:
    """Of samples x variants of both runs, NaN a missing cell; `variants` are the codes of the first ones."""
    parts = []
    for side, table in enumerate((base, candidate)):
        sample, variant = np.nonzero(~np.isnan(table))
        parts.append((np.full(len(sample), side), sample, variant + variants[side], table[sample, variant]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return {row.measure: row for row in compare_accuracies(*columns, seed=3, n_resamples=n_resamples)}


def exact_p(base: Table, candidate: Table) -> float:
    """Of the mean over variants of their means, over all exchanges of samples."""
    change = (candidate - base).mean(axis=1)
    every = [abs(np.dot(signs, change)) for signs in product((-1, 1), repeat=len(change))]
    return float(np.mean(np.array(every) >= abs(change.sum()) - 1e-12))


def test_four_questions_by_hand() -> None:
    rows = rows_of(BASE, CANDIDATE)
    # variants .75, .75, .25 and 1, 1, .625
    accuracy, spread = rows["accuracy"], rows["accuracy_std"]
    assert (accuracy.base, accuracy.candidate) == pytest.approx((1.75 / 3, 2.625 / 3))
    assert accuracy.difference == pytest.approx(0.875 / 3)
    assert spread.base == pytest.approx(np.sqrt(0.5**2 * 2 / 9))
    assert spread.candidate == pytest.approx(np.sqrt(0.375**2 * 2 / 9))
    # changes of the rows 1/3, 1/3, 0, .5: all of one sign in 2 of 8 ways, either way for the row of 0
    assert exact_p(BASE, CANDIDATE) == 0.25
    assert accuracy.p_value_samples == pytest.approx(0.25, abs=0.03)
    assert accuracy.p_value == max(accuracy.p_value_samples, accuracy.p_value_variants)
    assert (accuracy.n_samples, accuracy.n_variants, accuracy.reason) == (4, 3, None)


def test_few_variants_are_tested_by_t_over_variants() -> None:
    row = rows_of(BASE, CANDIDATE)["accuracy"]
    # changes of the variants .25, .25, .375: t = .291667 / (sd / sqrt 3) = .291667 / .0416667 = 7 on 2 degrees
    t = 7.0
    # the t distribution of 2 degrees has the tail (1 - t / sqrt(2 + t^2)) / 2
    assert row.p_value_variants == pytest.approx(1 - t / np.sqrt(2 + t**2))


def test_a_cell_that_one_run_lacks_leaves_both() -> None:
    base, candidate = BASE.copy(), CANDIDATE.copy()
    candidate[0, 0] = np.nan
    kept = rows_of(base, candidate)["accuracy"]
    base[0, 0] = np.nan
    assert rows_of(base, candidate)["accuracy"] == kept
    # variant 0 over three questions: 2/3 and 1
    assert (kept.base, kept.candidate) == pytest.approx(((2 / 3 + 1) / 3, 2.625 / 3))


def test_exchanging_the_runs_turns_the_sign() -> None:
    forth, back = rows_of(BASE, CANDIDATE), rows_of(CANDIDATE, BASE)
    for name, row in forth.items():
        assert back[name].difference == -row.difference
        assert (back[name].low, back[name].high) == (-row.high, -row.low)
        assert (back[name].p_value, back[name].standard_error) == (row.p_value, row.standard_error)


def test_a_run_against_itself() -> None:
    for row in rows_of(BASE, BASE).values():
        assert (row.difference, row.low, row.high, row.p_value) == (0, 0, 0, 1)


def test_reasons() -> None:
    assert rows_of(BASE[:1], CANDIDATE[:1])["accuracy"].reason == "other samples"
    few = rows_of(BASE, CANDIDATE, variants=(0, 3))["accuracy"]
    assert few.reason == "other variants: fewer than 10 a side"
    assert few.difference == pytest.approx(0.875 / 3)
    assert np.isnan([few.p_value, few.p_value_samples, few.low]).all()
    one = rows_of(BASE[:, :1], CANDIDATE)
    assert one["accuracy_std"].reason == "base has one wording"
    assert compare_accuracies(*(np.empty(0, np.int64),) * 3, np.empty(0), seed=1, n_resamples=10) == []


def test_one_variant_has_no_spread() -> None:
    rows = rows_of(BASE[:, :1], CANDIDATE[:, :1])
    assert list(rows) == ["accuracy"]
    assert rows["accuracy"].p_value == rows["accuracy"].p_value_samples
    assert np.isnan(rows["accuracy"].p_value_variants)


def test_other_wordings_ten_a_side_are_compared() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.random((2, 30, 10))
    row = rows_of(base, candidate, variants=(0, 10), n_resamples=500)["accuracy"]
    assert (row.reason, row.n_variants) == (None, 10)
    assert row.p_value >= row.p_value_variants > 0


def test_a_collapse_of_one_among_200_is_found() -> None:
    rng = np.random.default_rng(4)
    skill = rng.normal(0, 1, (60, 1))
    base, candidate = ((rng.random((60, 12)) < 1 / (1 + np.exp(-level - skill))).astype(float) for level in (0.7, -3.2))
    row = rows_of(base, candidate)["accuracy"]
    assert row.difference < -0.4
    assert row.p_value < 0.05 / 1600  # one of 200 groups' eight measures; exchanges of 12 wordings say 2^-11 at least
    assert row.p_value_samples >= 2.0**-59
