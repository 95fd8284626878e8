"""Speed of the measures as ratios against a peer in the same run, never as seconds of one machine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
import simpledorff  # type: ignore[import-untyped]

from promptaudit.udfs import resampling
from promptaudit.udfs.measures.consistency import consistency
from promptaudit.udfs.stability.prompt_stability import prompt_stability
from promptaudit.udfs.stability.ratings import annotations_of
from promptaudit.udfs.templates.spread import spread
from tests.support.seconds import seconds

pytestmark = pytest.mark.benchmark


def test_every_stability_figure_against_simpledorff() -> None:
    """29 cumulative, 29 adjacent alphas and all their intervals, against single alphas of simpledorff."""
    rng = np.random.default_rng(0)
    n, k, n_resamples = 500, 30, 1000
    noisy = rng.random((k, n)) < rng.random(n) ** 3 / 2
    codes = np.where(noisy, rng.integers(0, 6, (k, n)), rng.integers(0, 6, n))
    annotator, sample = np.indices(codes.shape).reshape(2, -1)

    def ours(resamples: int = n_resamples) -> float:
        rows = prompt_stability(
            annotations_of(sample, annotator, np.zeros_like(sample), codes.ravel()),
            np.zeros(6),
            "nominal",
            is_balanced=False,
            seed=1,
            n_resamples=resamples,
        )
        return rows[-1].pss

    frame = pd.DataFrame({"unit": sample, "annotator": annotator, "label": codes.ravel()})

    def peer(part: pd.DataFrame) -> float:
        return float(
            simpledorff.calculate_krippendorffs_alpha_for_df(
                part, experiment_col="unit", annotator_col="annotator", class_col="label"
            )
        )

    assert ours(0) == pytest.approx(peer(frame))
    own = seconds(ours, 3)
    # adjacent series have two annotators, cumulative ones 2 to 30: their mean cost stands at the ends and the middle
    by_k = [seconds(partial(peer, frame[frame.annotator < k])) for k in (2, 16, 30)]
    whole = 29 * n_resamples * (by_k[0] + float(np.mean(by_k)))
    ratio = whole / own
    print(f"\n58 series, {n_resamples} resamples: {own:.3f} s; simpledorff {whole:,.0f} s; {ratio:,.0f} times faster")
    assert ratio > 1000


def test_consistency_and_its_deviation_against_the_pair_loop() -> None:
    """100,000 samples, against the pair loop on 5,000 scaled by the number of pairs."""
    rng = np.random.default_rng(0)
    n_all, n_part = 100_000, 5_000
    p_tau = rng.multinomial(30, rng.dirichlet(np.full(7, 0.3), n_all)) / 30
    sample, label = np.nonzero(p_tau)
    share, gold = p_tau[sample, label], np.zeros(len(sample), np.int64)
    in_part = sample < n_part

    def loop() -> tuple[float, float]:
        part, total, squares = p_tau[:n_part], 0.0, 0.0
        for row in part:  # one sample against all others at a time: numpy's pair loop, as the published code runs it
            distances = np.abs(part - row).sum(axis=1) / 2
            total += float(distances.sum())
            squares += float(distances @ distances)
        mean = total / n_part**2
        return 1 - mean, float(np.sqrt(squares / n_part**2 - mean**2))

    figure = consistency(gold[in_part], sample[in_part], label[in_part], share[in_part], 1, 0)
    assert (figure.consistency, figure.consistency_std) == pytest.approx(loop(), abs=1e-9)
    own = seconds(lambda: consistency(gold, sample, label, share, 1, 0), 3)
    peer = seconds(loop) * (n_all / n_part) ** 2
    print(f"\n{n_all:,} samples: {own:.3f} s; the pair loop would take {peer:.0f} s; {peer / own:,.0f} times faster")
    assert peer / own > 100


def test_many_small_groups_against_one_of_all_their_samples() -> None:
    """120 tasks of 40 samples under 12 variants asked twice, against one task of their 4,800 samples."""
    rng = np.random.default_rng(0)
    n_groups, n, k = 120, 40, 12
    shape = (2, k, n_groups * n)
    codes = np.where(rng.random(shape) < 0.3, rng.integers(0, 3, shape), rng.integers(0, 3, n_groups * n))
    replicate, annotator, sample = np.indices(shape)

    def figures(part: slice) -> None:
        columns = (each[:, :, part].ravel() for each in (sample, annotator, replicate, codes))
        prompt_stability(annotations_of(*columns), np.zeros(3), "nominal", is_balanced=False, seed=1, n_resamples=1000)
        right = codes[0, :, part].ravel() == 0
        spread(
            sample[0, :, part].ravel() - (part.start or 0), annotator[0, :, part].ravel(), right.astype(float), 1, 1000
        )

    def one_by_one() -> None:
        resampling._kept_weights.cache_clear()
        for group in range(n_groups):
            figures(slice(group * n, (group + 1) * n))

    many, one = seconds(one_by_one, 3), seconds(partial(figures, slice(None)), 3)
    print(f"\n{n_groups} groups: {many:.2f} s; one of all their samples: {one:.2f} s; {many / one:.1f} times as long")
    assert many <= 4 * one
