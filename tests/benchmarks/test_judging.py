"""Speed of the measures of scoring as ratios against a peer in the same run, never as seconds of one machine."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from promptaudit.udfs.templates.rankings import ranking_consistency
from promptaudit.udfs.templates.rule_against_judge import rule_against_judge
from promptaudit.udfs.templates.spread import spread
from tests.support.seconds import seconds

pytestmark = pytest.mark.benchmark

Table = NDArray[np.float64]

N_TEMPLATES, N_MODELS, N_QUESTIONS, N_RESAMPLES = 250, 16, 100, 1000


def answers(seed: int) -> Table:
    """Questions x templates of right and wrong, accuracies from .3 to .8."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.random((N_QUESTIONS, N_TEMPLATES)) < np.linspace(0.3, 0.8, N_TEMPLATES), np.float64)


def variance_less_luck(table: Table, n_corrections: int) -> float:
    n, q = table.shape
    means = table.mean(axis=0)
    residual = table - table.mean(axis=1, keepdims=True) - means + table.mean()
    mean_square = np.square(residual).sum() / ((n - 1) * (q - 1))
    return float(means.var(ddof=1) - n_corrections * mean_square / n)


def loop(*tables: Table, n_resamples: int) -> list[list[float]]:
    """Deviations of each table and its resamples, a resampled table at a time."""
    rng = np.random.default_rng(0)
    deviations = [[float(np.sqrt(max(0.0, variance_less_luck(table, 1))))] for table in tables]
    for _ in range(n_resamples):
        drawn = rng.integers(0, N_QUESTIONS, N_QUESTIONS)
        for table, own in zip(tables, deviations, strict=True):
            own.append(float(np.sqrt(max(0.0, variance_less_luck(table[drawn], 2)))))
    return deviations


def test_ranking_consistency_against_scipy_pair_by_pair() -> None:
    """All 31,125 pairs of 250 templates, 16 models; scipy on every 25th pair."""
    rng = np.random.default_rng(0)
    table = rng.binomial(N_QUESTIONS, np.linspace(0.3, 0.8, N_MODELS), (N_TEMPLATES, N_MODELS)) / N_QUESTIONS
    variant, model = np.indices(table.shape).reshape(2, -1)
    pairs = list(combinations(range(N_TEMPLATES), 2))

    def ours() -> float:
        return ranking_consistency(variant, model, table.ravel()).mean_spearman

    def peer() -> list[float]:
        return [float(spearmanr(table[a], table[b]).statistic) for a, b in pairs[::25]]

    own, part = seconds(ours, 5), seconds(peer)
    whole = part * len(pairs) / len(pairs[::25])
    print(
        f"\n{len(pairs):,} pairs: {own * 1e3:.2f} ms; scipy pair by pair {whole:.1f} s; {whole / own:,.0f} times faster"
    )
    # scipy's own matrix of all pairs says the same
    matrix = np.asarray(spearmanr(table, axis=1).statistic)
    assert ours() == pytest.approx(matrix[np.triu_indices(N_TEMPLATES, 1)].mean(), abs=1e-12)
    assert whole / own > 1000


def test_spread_against_a_loop_over_resamples() -> None:
    table = answers(1)
    sample, variant = np.indices(table.shape).reshape(2, -1)

    def ours() -> tuple[float, float, float]:
        figure = spread(sample, variant, table.ravel(), 1, N_RESAMPLES)
        return figure.std_corrected, figure.std_corrected_low, figure.std_corrected_high

    (deviations,) = loop(table, n_resamples=N_RESAMPLES)
    # other draws: the bounds agree to what a thousand of them leave open
    assert ours() == pytest.approx((deviations[0], *np.percentile(deviations[1:], [2.5, 97.5])), abs=0.003)
    own, peer = seconds(ours, 5), seconds(lambda: loop(table, n_resamples=N_RESAMPLES))
    print(
        f"\n{N_RESAMPLES} resamples of 100 x 250: {own * 1e3:.1f} ms; a loop {peer:.2f} s; {peer / own:,.0f} times faster"
    )
    assert peer / own > 5


def test_rule_against_judge_against_a_loop_over_resamples() -> None:
    rule, judge = answers(2), answers(3)
    sample, variant = np.indices(rule.shape).reshape(2, -1)

    def ours() -> tuple[float, float, float]:
        unknown = np.full(rule.size, np.nan)
        figure = rule_against_judge(
            sample, variant, rule.ravel(), judge.ravel(), unknown, unknown, unknown, unknown, 1, N_RESAMPLES
        )
        return figure.share_removed, figure.share_removed_low, figure.share_removed_high

    by_rule, by_judge = (np.array(own) for own in loop(rule, judge, n_resamples=N_RESAMPLES))
    share = 1 - by_judge / by_rule
    assert ours() == pytest.approx((share[0], *np.percentile(share[1:], [2.5, 97.5])), abs=0.02)
    own, peer = seconds(ours, 5), seconds(lambda: loop(rule, judge, n_resamples=N_RESAMPLES))
    print(f"\nboth sides: {own * 1e3:.1f} ms; a loop {peer:.2f} s; {peer / own:,.0f} times faster")
    assert peer / own > 5
