"""Pairs of samples, counted by how alike they are, against every pair looked at."""

from __future__ import annotations

import itertools
import tracemalloc
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptaudit.udfs.measures import pair_distances as pairs
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.measures.pair_distances import PairBin, SamplePair, pair_distances, sample_pairs


def test_four_samples() -> None:
    # (1, 0, 0) twice, (.5, .5, 0), (0, 0, 1): the two are alike by 1, each to the third by .5, the fourth to all by 0
    p_tau = np.array([[1.0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    assert pair_distances(p_tau, 1) == [
        PairBin(similarity_low=0, similarity_high=0, n_pairs=3, mean_similarity=0, n_samples=4, n_distinct=3),
        PairBin(similarity_low=0.5, similarity_high=0.55, n_pairs=2, mean_similarity=0.5, n_samples=4, n_distinct=3),
        PairBin(similarity_low=1, similarity_high=1, n_pairs=1, mean_similarity=1, n_samples=4, n_distinct=3),
    ]
    assert pair_distances(p_tau[:1], 1) == pair_distances(p_tau[:0], 1) == []


@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.integers(1, 12), st.integers(1, 5))
@settings(max_examples=60)
def test_counts_are_those_of_all_pairs(seed: int, n: int, n_wordings: int, n_labels: int) -> None:
    rng = np.random.default_rng(seed)
    p_tau = rng.multinomial(n_wordings, rng.dirichlet(np.ones(n_labels) * 0.3), n) / n_wordings
    rows = pair_distances(p_tau, 1)
    alike = [1 - float(np.abs(p_tau[a] - p_tau[b]).sum()) / 2 for a, b in itertools.combinations(range(n), 2)]
    for row in rows:
        low, high = (
            row.similarity_low - 1e-9,
            row.similarity_high + (1e-9 if row.similarity_low == row.similarity_high else -1e-9),
        )
        is_within = [
            low <= value < high and (low > -1e-10 or row.similarity_high == 0 or value > 1e-9) for value in alike
        ]
        assert row.n_pairs == sum(is_within)
        assert row.mean_similarity == pytest.approx(fmean(np.array(alike)[is_within].tolist()), abs=1e-12)
    assert sum(row.n_pairs for row in rows) == len(alike)
    sample, label = np.nonzero(p_tau)
    whole = consistency(np.zeros_like(sample), sample, label, p_tau[sample, label], 1, 0)
    mean = sum(row.n_pairs * row.mean_similarity for row in rows) / len(alike)
    assert mean == pytest.approx(whole.consistency_distinct, abs=1e-12)


def test_a_class_of_many_samples_costs_its_distinct_distributions_alone() -> None:
    rng = np.random.default_rng(1)
    p_tau = (rng.multinomial(12, [0.9, 0.05, 0.05], 50) / 12)[rng.integers(0, 50, 100_000)]
    tracemalloc.start()
    rows = pair_distances(p_tau, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(row.n_pairs for row in rows) == 100_000 * 99_999 / 2  # more than 32 bits hold
    assert peak < 20 * p_tau.nbytes  # all pairs would take 40 GB


def test_of_many_distinct_distributions_a_seeded_part_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    p_tau = np.random.default_rng(1).dirichlet(np.ones(4), 400)
    whole = pair_distances(p_tau, 1)
    assert {(row.n_samples, row.n_distinct) for row in whole} == {(400, 400)}
    monkeypatch.setattr(pairs, "MOST_VECTORS", 150)
    part = pair_distances(p_tau, 1)
    assert {(row.n_samples, row.n_distinct) for row in part} == {(150, 150)}
    assert sum(row.n_pairs for row in part) == 150 * 149 / 2
    assert part == pair_distances(p_tau, 1) != pair_distances(p_tau, 2)
    means = [
        sum(row.n_pairs * row.mean_similarity for row in rows) / sum(row.n_pairs for row in rows)
        for rows in (whole, part)
    ]
    assert means[0] == pytest.approx(means[1], abs=0.03)


def test_pairs_of_the_worked_example() -> None:
    # p_tau (1, 0, 0), (.5, .5, 0), (0, 0, 1): distances .5, 1 and 1, so consistency 1 - (2 * 2.5) / 9 = .444444
    found = sample_pairs(np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1.0]]))
    assert {frozenset((pair.sample, pair.other_sample)): pair.similarity for pair in found} == {
        frozenset((0, 1)): 0.5,
        frozenset((0, 2)): 0,
        frozenset((1, 2)): 0,
    }
    assert [(pair.place, pair.other_place) for pair in found] == [(1, 2), (1, 3), (2, 3)]
    assert (3 + 2 * sum(pair.similarity for pair in found)) / 9 == pytest.approx(4 / 9)
    assert sample_pairs(np.array([[1.0], [1.0]])) == [SamplePair(0, 1, 1, 2, 1.0)]
    assert sample_pairs(np.array([[1.0]])) == []


def test_groups_stand_together() -> None:
    # three groups, shuffled: whatever their order, none is torn apart
    kinds = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    found = sample_pairs(np.eye(3)[kinds] * 0.9 + 0.1 / 3)
    places = {pair.place: pair.sample for pair in found} | {pair.other_place: pair.other_sample for pair in found}
    order = [kinds[places[place]] for place in range(1, 11)]
    assert len(list(itertools.groupby(order))) == 3
