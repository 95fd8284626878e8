"""What a balanced incomplete grid gives for its requests, beside a full grid of the same samples and wordings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.measures.wording_accuracies import wording_quantiles
from promptaudit.udfs.stability.prompt_stability import StabilityRow
from promptaudit.udfs.templates.spread import spread
from promptaudit.udfs.two_way import two_way_interval
from tests.support.seconds import seconds
from tests.udfs.designs.worlds import World, dealt
from tests.udfs.stability.test_incomplete_grids import asked
from tests.udfs.stability.test_prompt_stability import stability

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

WORLDS = {
    "wordings matter little": World(samples=0.2, wordings=0.03, cells=0.1),
    "wordings matter": World(samples=0.2, wordings=0.06, cells=0.1),
    "answers repeat": World(mean=0.55, samples=0.26, wordings=0.06, cells=0.05),
}
N_SAMPLES, N_WORDINGS = 500, 30
PER_SAMPLE = {"full": 30, "q = 6": 6, "q = 3": 3}
N_WORLDS, N_STABILITY, N_SPREADS = 400, 150, 150
Table = NDArray[np.float64]
Bounds = tuple[float, float]


def cells(table: Table, q: int, key: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Table]:
    sample, wording = dealt(*table.shape, q, str(key))
    return sample, wording, table[sample, wording]


def micro_f1_of(tables: Iterator[Table], truth: float, name: str) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of micro-F1's interval in each design, printed."""
    held: dict[str, list[tuple[bool, float]]] = {design: [] for design in PER_SAMPLE}
    for key, table in enumerate(tables):
        for design, q in PER_SAMPLE.items():
            got = two_way_interval(*cells(table, q, key), is_incomplete=q < N_WORDINGS)
            held[design].append((got.low <= truth <= got.high, got.high - got.low))
    figures = {}
    for design, rows in held.items():
        coverage, width = np.mean(rows, axis=0).tolist()
        figures[design] = coverage, width
        print(
            f"\n{name}, {design}: {N_SAMPLES * PER_SAMPLE[design]} requests, covers {coverage:.3f}, width {width:.4f}",
            end="",
        )
    return figures


@pytest.mark.parametrize("name", WORLDS)
def test_micro_f1_of_additive_worlds(name: str) -> None:
    world, rng = WORLDS[name], np.random.default_rng(1)
    tables = (world.answers(rng, N_SAMPLES, N_WORDINGS, 1)[:, :, 0] for _ in range(N_WORLDS))
    figures = micro_f1_of(tables, world.mean, name)
    # a fifth of the requests for 1.1 to 1.25 times the width
    assert all(coverage >= 0.9 for coverage, _ in figures.values())
    assert figures["q = 6"][1] < 1.3 * figures["full"][1]


def right_answers(ground_truth: Path) -> tuple[Table, NDArray[np.int64]]:
    """Whether each recorded answer is right, and which it is, of shape (500, 30)."""
    rows = pl.read_parquet(ground_truth / "robustness_trec500.parquet").sort("sample_id", "variant_index")
    shape = rows["sample_id"].n_unique(), rows["variant_index"].n_unique()
    right = (rows["completion"] == rows["gold_label"]).to_numpy().astype(np.float64)
    return right.reshape(shape), np.unique(rows["completion"].to_numpy(), return_inverse=True)[1].reshape(shape)


def drawn(rng: np.random.Generator, shape: tuple[int, int], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """N samples and 30 wordings of a population of this shape, drawn with replacement, as an index of its table."""
    return np.ix_(rng.integers(0, shape[0], n), rng.integers(0, shape[1], N_WORDINGS))


def test_micro_f1_of_recorded_answers(ground_truth: Path) -> None:
    right, _ = right_answers(ground_truth)
    rng = np.random.default_rng(2)
    tables = (right[drawn(rng, right.shape, N_SAMPLES)] for _ in range(N_WORLDS))
    figures = micro_f1_of(tables, float(right.mean()), "recorded answers")
    assert all(coverage >= 0.9 for coverage, _ in figures.values())


def test_quantiles_over_wordings() -> None:
    """Normal effects of .06, so that the worst 5 % of wordings are at .6 - 1.645 * .06."""
    rng = np.random.default_rng(3)
    worst: dict[str, list[float]] = {design: [] for design in PER_SAMPLE}
    for key in range(N_WORLDS):
        p = rng.uniform(0.3, 0.9, (N_SAMPLES, 1)) + rng.normal(0, 0.06, N_WORDINGS)
        table = (rng.random((N_SAMPLES, N_WORDINGS)) < p).astype(np.float64)
        for design, q in PER_SAMPLE.items():
            worst[design].append(wording_quantiles(*cells(table, q, key)).worst_5)
    for design, figures in worst.items():
        off = np.mean(figures) - (0.6 - 1.645 * 0.06)
        print(f"\nworst 5 %, {design}: bias {off:+.4f}, sd {np.std(figures):.4f}", end="")
        assert abs(off) < 0.015


@pytest.mark.parametrize("sigma", [0.0, 0.03, 0.088])
def test_spread_over_templates(sigma: float) -> None:
    """True deviations of 0, small, and the median of real templates."""
    rng = np.random.default_rng(4)
    effect = np.linspace(-1, 1, N_WORDINGS)
    effect *= sigma / effect.std(ddof=1)
    for design, q in PER_SAMPLE.items():
        found = []
        for key in range(N_SPREADS):
            p = rng.uniform(0.3, 0.7, (N_SAMPLES, 1)) + effect
            table = (rng.random((N_SAMPLES, N_WORDINGS)) < p).astype(np.float64)
            found.append(spread(*cells(table, q, key), key, 300, is_incomplete=q < N_WORDINGS))
        held = np.mean([each.std_corrected_low <= sigma <= each.std_corrected_high for each in found])
        width = np.mean([each.std_corrected_high - each.std_corrected_low for each in found])
        mean_square = np.mean([each.std_corrected**2 for each in found])
        print(
            f"\nspread {sigma}, {design}: covers {held:.3f}, width {width:.3f}, root mean square {mean_square**0.5:.4f}",
            end="",
        )
        assert held >= 0.9


def test_stability_for_the_same_requests(ground_truth: Path) -> None:
    """Recorded answers as a population; 3,000 requests as 500 samples under 6 of 30 wordings, or as 100 under all."""
    _, labels = right_answers(ground_truth)
    truth = stability(labels.T, is_all_alone=True)[-1].pss
    rng = np.random.default_rng(5)
    designs = {"500 x 30": (500, 30), "500 x 6 of 30": (500, 6), "100 x 30": (100, 30)}
    deviations = {}
    for design, (n, q) in designs.items():
        rows: list[StabilityRow] = []
        for key in range(N_STABILITY):
            codes = labels[drawn(rng, labels.shape, n)].T
            rows.append(stability(asked(codes, q, str(key)) if q < N_WORDINGS else codes)[-1])
        deviations[design] = float(np.std([row.pss for row in rows]))
        held = np.mean([row.pss_wordings_low <= truth <= row.pss_wordings_high for row in rows])
        width = np.mean([row.pss_wordings_high - row.pss_wordings_low for row in rows])
        print(
            f"\nPSS inter, {design}: {n * q} requests, sd {deviations[design]:.4f}, covers {held:.3f}, width {width:.3f}",
            end="",
        )
        assert held >= 0.87
    assert deviations["500 x 6 of 30"] < 0.7 * deviations["100 x 30"]


def test_an_incomplete_grid_takes_no_longer_than_a_full_one() -> None:
    rng = np.random.default_rng(6)
    codes = np.where(rng.random((30, 500)) < 0.3, rng.integers(0, 4, (30, 500)), rng.integers(0, 4, 500))
    table = (rng.random((500, 30)) < 0.6).astype(np.float64)
    full, gaps = (seconds(lambda own=own: stability(own, n_resamples=1000), 3) for own in (codes, asked(codes, 6)))
    spread_gaps = seconds(lambda: spread(*cells(table, 6, 0), 1, 1000, is_incomplete=True), 3)
    print(
        f"\nPSS inter {full:.3f} s full, {gaps:.3f} s incomplete; spread of 1,000 resamples {spread_gaps:.3f} s", end=""
    )
    assert gaps < 3 * full
    assert spread_gaps < 1
