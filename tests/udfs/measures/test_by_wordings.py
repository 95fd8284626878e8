"""Measures of fewer wordings, against every subset taken one by one."""

from __future__ import annotations

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from promptaudit.udfs.measures import rarefaction
from promptaudit.udfs.measures.by_wordings import (
    N_SUBSETS,
    ByWordings,
    measures_by_wordings,
    numbers_of_wordings,
    subsets,
)
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.measures.rarefaction import expected_terms

Table = NDArray[np.float64]  # samples x wordings x labels; a cell that was not asked is 0 throughout


def measured(table: Table, gold: list[int] | None = None, seed: int = 1) -> dict[int, ByWordings]:
    sample, variant, label = np.nonzero(table)
    classes = np.array([0] * len(table) if gold is None else gold)[sample]
    rows = measures_by_wordings(classes, sample, variant, label, table[sample, variant, label], table.shape[2], seed)
    return {row.n_wordings: row for row in rows}


def entropy(shares: Table) -> float:
    return -sum(p * math.log(p) for p in shares if p > 0) / math.log(len(shares))


def slow_consistency(table: Table, subset: tuple[int, ...], gold: list[int]) -> float:
    """1 - mean distance over all ordered pairs of a class, under these wordings."""
    p_tau = table[:, subset].mean(axis=1)
    pairs = [(a, b) for a in range(len(gold)) for b in range(len(gold)) if gold[a] == gold[b]]
    return 1 - fmean(float(np.abs(p_tau[a] - p_tau[b]).sum()) / 2 for a, b in pairs)


def test_two_of_three_wordings() -> None:
    # a, a, b: of the three subsets of two one is (a, a), entropy 0, and two are (a, b), entropy ln 2 / ln 3
    found = measured(np.array([[[1.0, 0, 0], [1, 0, 0], [0, 1, 0]]]))
    assert found[2].sensitivity == pytest.approx(2 / 3 * math.log(2) / math.log(3))
    assert found[3].sensitivity == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(3))
    assert [found[k].n_subsets for k in (2, 3)] == [3, 1]
    # Hypergeometric(j; 3, 1, 2) of the label b: 1/3 for none, 2/3 for one of two, so 2/3 * .5 ln 2
    terms = expected_terms(np.array([0.0, 1.0]), np.array([2, 1]))
    assert terms == pytest.approx([0, 0, 2 / 3 * 0.5 * math.log(2), math.log(3) / 3])


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 5), st.integers(2, 4), st.sampled_from([1, 2, 3, 7])
)
@settings(max_examples=60)
def test_rarefaction_is_the_mean_over_all_subsets(
    seed: int, n_wordings: int, n_samples: int, n_labels: int, n_repetitions: int
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.multinomial(n_repetitions, rng.dirichlet(np.ones(n_labels)), (n_samples, n_wordings)) / n_repetitions
    gold = rng.integers(0, 2, n_samples).tolist()
    found = measured(table, gold)
    assert list(found) == list(range(2, n_wordings + 1))
    for k, row in found.items():
        chosen = list(itertools.combinations(range(n_wordings), k))
        wanted = fmean(entropy(table[i, subset].mean(axis=0)) for i in range(n_samples) for subset in chosen)
        assert row.sensitivity == pytest.approx(wanted, abs=1e-12)
        figures = [slow_consistency(table, subset, gold) for subset in chosen]  # at most ten: all are taken
        assert row.consistency == pytest.approx(fmean(figures), abs=1e-12)
        assert row.consistency_subset_std == pytest.approx(float(np.std(figures)), abs=1e-12)
        assert (row.is_sensitivity_exact, row.n_subsets, row.n_samples) == (True, len(chosen), n_samples)


def test_all_wordings_give_the_whole_and_fewer_stand_below_it() -> None:
    rng = np.random.default_rng(5)
    table = rng.multinomial(2, [0.5, 0.3, 0.1, 0.1], (40, 30)) / 2
    gold = rng.integers(0, 3, 40)
    found = measured(table, gold.tolist())
    assert list(found) == [2, 3, 4, 5, 7, 9, 11, 14, 18, 23, 30]
    p_tau = table.mean(axis=1)
    assert found[30].sensitivity == pytest.approx(fmean(map(entropy, p_tau)), abs=1e-12)
    sample, label = np.nonzero(p_tau)
    whole = consistency(gold[sample], sample, label, p_tau[sample, label], 1, 0)
    assert found[30].consistency == pytest.approx(whole.consistency, abs=1e-12)
    assert (found[30].n_subsets, found[30].consistency_subset_std) == (1, 0)
    curve = [row.sensitivity for row in found.values()]
    assert curve == sorted(curve)
    assert {row.n_subsets for k, row in found.items() if k < 30} == {N_SUBSETS}


def test_samples_that_lack_wordings() -> None:
    a, b, no = [1.0, 0], [0, 1.0], [0.0, 0]
    found = measured(np.array([[a, b, a], [a, b, no], [b, no, no], [a, a, a]]), [0, 0, 0, 1])
    # the second has two of three and keeps them, ln 2 / ln 2; the third has one and is left out, as in the scorecard
    of_two, of_three = fmean([2 / 3, 1, 0]), fmean([entropy(np.array([2 / 3, 1 / 3])), 1, 0])
    assert [found[k].sensitivity for k in (2, 3)] == pytest.approx([of_two, of_three])
    assert found[2].n_samples == 3
    # (1, 2): p (.5, .5), (.5, .5), (0, 1): distances 0, .5, .5 of nine; (1, 3): (1, 0), (1, 0), (0, 1): 0, 1, 1 of nine;
    # (2, 3): (.5, .5), (0, 1) and none: .5 of four; one pair of the class of one each time
    wanted = [1 - 2 / 10, 1 - 4 / 10, 1 - 1 / 5]
    assert found[2].consistency == pytest.approx(fmean(wanted))


def test_what_is_undefined() -> None:
    a, b = [1.0, 0], [0, 1.0]
    without_gold = measured(np.array([[a, b], [a, a]]), [-1, -1])[2]
    assert math.isnan(without_gold.consistency)
    assert without_gold.sensitivity == pytest.approx(0.5)
    assert measured(np.array([[a], [b]])) == {}
    nothing = np.empty(0, np.int64)
    assert measures_by_wordings(nothing, nothing, nothing, nothing, np.empty(0), 2, 1) == []
    apart = measured(np.array([[a, [0.0, 0]], [[0.0, 0], b]]))[2]
    assert (math.isnan(apart.sensitivity), apart.n_samples) == (True, 0)


def test_many_different_shares_are_drawn_and_hit_the_exact_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = rng.multinomial(3, [0.4, 0.3, 0.3], (60, 10)) / 3
    exact = measured(table)
    monkeypatch.setattr(rarefaction, "MOST_COMPOSITIONS", 1)
    drawn = measured(table)
    assert [row.is_sensitivity_exact for row in drawn.values()] == [False] * 8 + [True]
    for k, row in drawn.items():
        assert row.sensitivity == pytest.approx(exact[k].sensitivity, abs=0.005)
    assert drawn[10].sensitivity == pytest.approx(exact[10].sensitivity, abs=1e-12)


def test_numbers_and_subsets() -> None:
    assert [len(numbers_of_wordings(n)) for n in (0, 1, 2, 13, 14, 250)] == [0, 0, 1, 12, 10, 12]
    assert numbers_of_wordings(250)[-1] == 250
    assert subsets(4, 3, 1).tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    small, large = subsets(30, 5, 1), subsets(30, 9, 1)
    assert (large[:, :5] == small).all()
    assert (subsets(30, 5, 2) != small).any()
    assert all(len(set(row)) == 9 for row in large.tolist())
