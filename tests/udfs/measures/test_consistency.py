"""Consistency without pairs against the pair loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t

from promptaudit.udfs.measures import pairs
from promptaudit.udfs.measures.consistency import (
    AnswerShares,
    Consistency,
    SampleJackknife,
    bootstrap_consistency,
    consistency,
    distance_sums,
    mean_consistency,
)
from promptaudit.udfs.resampling import generator, weights

Table = NDArray[np.float64]


def entries(p: Table) -> tuple[NDArray[np.int64], NDArray[np.int64], Table]:
    sample, label = np.nonzero(p)
    return sample, label, p[sample, label]


def consistency_of(p: Table, gold: NDArray[np.int64], n_resamples: int = 0) -> Consistency:
    sample, label, share = entries(p)
    return consistency(gold[sample], sample, label, share, 11, n_resamples)


def similarities(p: Table) -> Table:
    return np.asarray(1 - np.abs(p[:, None] - p[None]).sum(axis=2) / 2)


def by_pairs(p: Table, gold: NDArray[np.int64]) -> tuple[float, float, float]:
    same = gold[:, None] == gold
    distinct = same & ~np.eye(len(p), dtype=bool)
    similar = similarities(p)
    return similar[same].mean(), similar[distinct].mean() if distinct.any() else np.nan, similar[same].std()


def random_table(seed: int, n: int, unequal: bool = False) -> tuple[Table, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    n_variants = rng.integers(1, 9, n) if unequal else np.full(n, 6)
    own = rng.dirichlet(np.full(4, 0.4), n)
    table = np.array([rng.multinomial(q, p) / q for q, p in zip(n_variants, own, strict=True)])
    return table, rng.integers(0, 3, n)


def test_three_samples() -> None:
    # distances 1/2 (first two), 1 and 1 to the third: mean over 9 ordered pairs (2 * 2.5) / 9
    p = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    figure = consistency_of(p, np.zeros(3, np.int64))
    assert figure.consistency == pytest.approx(1 - 5 / 9)
    assert figure.consistency == pytest.approx(0.444444, abs=1e-6)
    assert figure.consistency_distinct == pytest.approx(1 - 5 / 6)
    assert figure.consistency == pytest.approx(1 / 3 + (1 - 1 / 3) * figure.consistency_distinct)


@pytest.mark.parametrize(("matrix_grid", "histogram_cells"), [(256, 4_000_000), (0, 4_000_000), (256, 0)])
@pytest.mark.parametrize("unequal", [False, True])
def test_equals_the_pair_loop(
    monkeypatch: pytest.MonkeyPatch, matrix_grid: int, histogram_cells: int, unequal: bool
) -> None:
    monkeypatch.setattr(pairs, "_MATRIX_GRID", matrix_grid)
    monkeypatch.setattr(pairs, "_HISTOGRAM_CELLS", histogram_cells)
    for seed in range(25):
        p, gold = random_table(seed, 2 + seed, unequal)
        assert consistency_of(p, gold)[:3] == pytest.approx(by_pairs(p, gold), abs=1e-9, nan_ok=True)


@given(st.integers(0, 10_000), st.integers(2, 25))
@settings(max_examples=40)
def test_names_and_order_change_nothing(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p, gold = random_table(seed, n)
    order = rng.permutation(n)
    shuffled = consistency_of(p[order][:, rng.permutation(4)], rng.permutation(3)[gold][order])
    assert shuffled[:3] == pytest.approx(consistency_of(p, gold)[:3], abs=1e-9, nan_ok=True)


@given(st.integers(0, 10_000), st.integers(1, 25))
@settings(max_examples=40)
def test_mean_consistency_equals_the_pair_loop(seed: int, n: int) -> None:
    p, gold = random_table(seed, n, unequal=True)
    sample, label, share = entries(p)
    got = mean_consistency(gold[sample], sample, label, share)
    similar = similarities(p)
    others = [(gold == gold[i]) & (np.arange(n) != i) for i in range(n)]
    expected = [similar[i, others[i]].mean() if others[i].any() else np.nan for i in range(n)]
    assert got.mean_consistency[np.argsort(got.sample)] == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)


def test_a_single_sample_agrees_with_itself_alone() -> None:
    figure = consistency_of(np.array([[0.5, 0.5]]), np.zeros(1, np.int64))
    assert figure.consistency == 1
    assert np.isnan(figure.consistency_distinct)
    assert figure.consistency_std == 0


def test_nothing_is_undefined() -> None:
    empty = np.empty(0, np.int64)
    assert np.isnan(consistency(empty, empty, empty, np.empty(0), 1, 10)).all()
    assert len(mean_consistency(empty, empty, empty, np.empty(0)).sample) == 0


def test_the_bootstrap_leaves_out_pairs_of_a_sample_with_itself() -> None:
    p, gold = random_table(4, 60)
    sample, label, share = entries(p)
    shares = AnswerShares.from_entries(gold[sample], sample, label, share)
    got = bootstrap_consistency(shares, seed=5, n_resamples=20)

    order = shares.sample_code  # samples class by class, as the weights are drawn
    sizes = np.bincount(gold)
    rng = generator(5, 1)
    weight = np.concatenate([weights(rng, int(n), 20) for n in sizes])
    same = (gold[order][:, None] == gold[order]) & ~np.eye(60, dtype=bool)
    similar = similarities(p)[order][:, order]
    self_share = sizes.sum() / (sizes**2).sum()
    for b in range(20):
        w = np.outer(weight[:, b], weight[:, b]) * same
        assert got[b] == pytest.approx(self_share + (1 - self_share) * (w * similar).sum() / w.sum(), abs=1e-12)


def test_the_interval_surrounds_the_published_figure_and_keeps_to_its_seed() -> None:
    p, gold = random_table(2, 300)
    figure = consistency_of(p, gold, 400)
    assert figure.low < figure.consistency < figure.high
    assert consistency_of(p, gold, 400) == figure


def test_a_rare_class_takes_no_interval_away_but_its_own() -> None:
    p, _ = random_table(2, 300)
    assert np.isnan(consistency_of(p[:19], np.zeros(19, np.int64), 50).low)
    rare = np.append(np.zeros(281, np.int64), np.ones(19, np.int64))
    figure = consistency_of(p, rare, 400)
    assert figure.low < figure.consistency < figure.high
    assert np.isnan(consistency_of(p, np.arange(300) // 15, 50).low)  # all twenty classes have fifteen samples


def test_unanimous_samples_are_not_certain() -> None:
    # with one sample that shares nothing the 41 have 2 * 40 of 41^2 ordered pairs at distance 1; the distance sums are 1 forty
    # times and 40 once, so that V = 4 / 41^4 * 41 * 40 / 39^2 * (40 * (1 - 80/41)^2 + (40 - 80/41)^2)
    figure = consistency_of(np.tile([1.0, 0.0], (40, 1)), np.zeros(40, np.int64), 100)
    variance = 4 / 41**4 * 41 * 40 / 39**2 * (40 * (1 - 80 / 41) ** 2 + (40 - 80 / 41) ** 2)
    assert figure.consistency == figure.high == 1
    assert figure.low == pytest.approx(1 - 80 / 41**2 - t.ppf(0.975, 40) * np.sqrt(variance))
    assert figure.low == pytest.approx(0.8562, abs=1e-4)


def test_the_added_sample_is_in_the_largest_class() -> None:
    gold = np.append(np.zeros(60, np.int64), np.ones(25, np.int64))
    figure = consistency_of(np.eye(2)[gold], gold, 100)
    added = {
        k: SampleJackknife.of(np.concatenate(distances), np.array(sizes))
        for k, distances, sizes in (
            (0, [np.ones(60), [60.0], np.zeros(25)], [61, 25]),
            (1, [np.zeros(60), np.ones(25), [25.0]], [60, 26]),
        )
    }
    lows = [
        each.consistency - t.ppf(0.975, each.degrees_of_freedom) * np.sqrt(each.variance) for each in added.values()
    ]
    assert lows[0] < lows[1]
    assert figure.low == pytest.approx(lows[0])


def test_samples_that_differ_much_have_the_percentiles_alone() -> None:
    p, gold = random_table(3, 300)
    sample, label, share = entries(p)
    figure = consistency(gold[sample], sample, label, share, 11, 200)
    replicates = bootstrap_consistency(AnswerShares.from_entries(gold[sample], sample, label, share), 11, 200)
    assert (figure.low, figure.high) == tuple(np.percentile(replicates, [2.5, 97.5]))


def test_the_jackknife_over_samples_equals_leaving_out_one_after_the_other() -> None:
    p, gold = random_table(5, 40)
    sample, label, share = entries(p)
    shares = AnswerShares.from_entries(gold[sample], sample, label, share)
    own = SampleJackknife.of(distance_sums(shares), shares.class_size)
    n_pairs = float((np.bincount(gold) ** 2).sum())
    variance = 0.0
    for k in range(3):
        distances = 1 - similarities(p[gold == k])
        n = len(distances)
        pairs = ~np.eye(n - 1, dtype=bool)
        without = [np.delete(np.delete(distances, i, 0), i, 1)[pairs].mean() for i in range(n)]
        variance += (n * (n - 1) / n_pairs) ** 2 * (n - 1) * np.var(without)
    assert own.variance == pytest.approx(variance)
    assert own.consistency == pytest.approx(by_pairs(p, gold)[0])
    assert own.degrees_of_freedom == 37
