"""The comparison's error rates, power and coverage, and the coverage of one night's bounds, at full size.

Figures are printed with what was run.

1,000 pairs of nights a world take an hour or more of two cores. `CALIBRATION_PAIRS=100` runs fewer;
`CALIBRATION_RESAMPLES` and `CALIBRATION_SIZE` (samples x variants) change the rest.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import pytest
from scipy.stats import binom

from tests.udfs import sensitivity_worlds
from tests.udfs.breaking_worlds import broken, right_and_wrong
from tests.udfs.comparison_worlds import (
    MODEL,
    NOTHING_CHANGED,
    Design,
    Judged,
    World,
    answers_of,
    compared_pair,
    compared_side_by_side,
    detectable,
    detected,
    effects_of,
    less_skilled,
    model_with,
    other_provider,
    other_shocks,
    regressed,
    same,
)
from tests.udfs.one_night_worlds import (
    SHARES,
    WORLDS,
    golds,
    night_of_consistency,
    night_of_shares,
    true_consistency,
    true_shares,
)
from tests.udfs.ranking_worlds import ranked_night
from tests.udfs.rate_worlds import RATE_WORLDS, RATES, bounded_rate
from tests.udfs.stability.test_prompt_stability import stability

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(4 * 3600)]

N_PAIRS = int(os.environ.get("CALIBRATION_PAIRS", "1000"))
N_RESAMPLES = int(os.environ.get("CALIBRATION_RESAMPLES", "1000"))
FULL = Design(*(int(n) for n in os.environ.get("CALIBRATION_SIZE", "500x30").split("x")))
FEW = Design(n_samples=100, n_variants=12)

FOUND = ("regressed", "improved", "changed")
Pairs = list[dict[str, Judged]]
T = TypeVar("T")


class Workers:
    """Works on seeds 0, 1, ... in two processes."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        """Take the processes."""
        self._pool = pool

    def each(self, work: Callable[[int], T], n: int) -> list[T]:
        """What `work` makes of each of n seeds."""
        return list(self._pool.map(work, range(n), chunksize=4))

    def pairs(self, world: World, design: Design, n_pairs: int) -> Pairs:
        """Every measure of pairs of a world; says what was run."""
        start = time.perf_counter()
        found = self.each(partial(compared_pair, world=world, design=design), n_pairs)
        size = f"{design.n_samples} samples x {design.n_variants} wordings"
        print(f"\n{n_pairs} pairs of {size}: {time.perf_counter() - start:.0f} s")
        return found


def may_be_at_least(n_events: int, n: int, rate: float) -> bool:
    """Whether a true rate of `rate` or more explains so few events: false once in 10,000 times."""
    return bool(binom.cdf(n_events, n, rate) > 1e-4)


def may_be_at_most(n_events: int, n: int, rate: float) -> bool:
    """Whether a true rate of `rate` or less explains so many events: false once in 10,000 times."""
    return bool(binom.sf(n_events - 1, n, rate) > 1e-4)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Two processes of one thread each."""
    with pytest.MonkeyPatch.context() as patch:
        for library in ("OPENBLAS", "OMP", "MKL"):
            patch.setenv(f"{library}_NUM_THREADS", "1")
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield Workers(pool)


def printed(pairs: Pairs) -> None:
    """How often p is .05 or less in each measure, how often its interval holds 0, and how wide that is."""
    for measure in sorted({name for pair in pairs for name in pair}):
        rows = [pair[measure].compared for pair in pairs if measure in pair]
        rows = [row for row in rows if not np.isnan(row.p_value)]
        if rows:
            rejects = np.mean([row.p_value <= 0.05 for row in rows])
            covers = np.mean([row.low <= 0 <= row.high for row in rows])
            half = np.mean([row.high - row.low for row in rows]) / 2
            print(f"{measure:14} p <= .05 {rejects:.3f}, covers 0 {covers:.3f}, half-width {half:.4f}")


@pytest.mark.parametrize("name", NOTHING_CHANGED)
@pytest.mark.parametrize("design", [FEW, FULL], ids=["few", "full"])
def test_nothing_changed(name: str, design: Design, workers: Workers) -> None:
    pairs = workers.pairs(NOTHING_CHANGED[name], design, N_PAIRS)
    n_found = sum(any(row.verdict in FOUND for row in pair.values()) for pair in pairs)
    print(f"{name}: anything told in {n_found / N_PAIRS:.3f} of {N_PAIRS} pairs")
    printed(pairs)
    assert may_be_at_most(n_found, N_PAIRS, 0.05)


def two_models(seed: int, design: Design) -> dict[str, Judged]:
    """Two models that are as good as each other and differ in which samples they know."""
    rng = np.random.default_rng(seed)
    nights = World(other_provider, MODEL).nights(rng, effects_of(rng, design))
    return compared_side_by_side(answers_of(rng, nights, design), design, of_two_models=True)


def test_two_models_that_are_as_good(workers: Workers) -> None:
    pairs = workers.each(partial(two_models, design=FEW), N_PAIRS)
    n_found = sum(any(row.verdict in FOUND for row in pair.values()) for pair in pairs)
    print(f"\ntwo models: anything told in {n_found / N_PAIRS:.3f} of {N_PAIRS} pairs")
    printed(pairs)
    assert may_be_at_most(n_found, N_PAIRS, 0.05)


@pytest.mark.parametrize(("design", "difference"), [(FULL, 0.025), (FEW, 0.06)], ids=["full", "few"])
@pytest.mark.parametrize("size", ["both_sd", "wording_sd", "temperature"])
def test_greater_sensitivity(size: str, design: Design, difference: float, workers: Workers) -> None:
    louder = model_with(MODEL, size, difference, design)
    n_pairs = max(1, N_PAIRS // 4)
    pairs = workers.pairs(World(same, MODEL, louder), design, n_pairs)
    n_found = sum("sensitivity" in regressed(pair) for pair in pairs)
    print(f"sensitivity +{difference} by {size} {getattr(louder, size):.3f}: found {n_found / n_pairs:.3f}")
    assert may_be_at_least(n_found, n_pairs, 0.9)


@pytest.mark.parametrize("n_tests", [1, 8])
@pytest.mark.parametrize(
    "world", [World(same, MODEL), World(other_shocks, replace(MODEL, shock_sd=0.3))], ids=["same", "shocks"]
)
@pytest.mark.parametrize("size", ["100x3", "100x5", "100x8", "60x12", "200x12"])
def test_a_detectable_difference_is_found(size: str, world: World, n_tests: int, workers: Workers) -> None:
    n_samples, n_variants = (int(n) for n in size.split("x"))
    design = Design(n_samples=n_samples, n_variants=n_variants)
    smallest = detectable(world, design, n_tests)
    lower = replace(world, candidate=less_skilled(world.base, smallest, design))
    work = partial(detected, world=lower, design=design, n_tests=n_tests)
    n_found = sum(workers.each(work, N_PAIRS))
    print(f"\n{size}, {n_tests} tests: {smallest:.3f} is found in {n_found} of {N_PAIRS}")
    assert may_be_at_least(n_found, N_PAIRS, 0.85)


# ---------------------------------------------------------------- intervals of one night
@pytest.mark.parametrize("q", [3, 5, 8, 10, 12, 20, 30])
@pytest.mark.parametrize("name", sensitivity_worlds.WORLDS)
def test_bounds_of_sensitivity(name: str, q: int, workers: Workers) -> None:
    """The plain figure's hold what as many wordings show on average, those of the corrected one the truth of endless ones."""
    truth, n_nights = sensitivity_worlds.WORLDS[name].truth(), max(1, N_PAIRS // 5)
    for n in (40, 100):
        nights = workers.each(partial(sensitivity_worlds.night_of, name=name, n=n, q=q), n_nights)
        found = np.array([night.found for night in nights])
        expected = found[:, 0].mean()
        plain, corrected = covers(found[:, 1:3], expected), covers(found[:, 4:], truth)
        print(
            f"\n{name} {n} x {q}, {n_nights} nights: truth {truth:.3f}, plain {expected - truth:+.3f} covered {plain:.2f}, "
            f"corrected {found[:, 3].mean() - truth:+.3f} covered {corrected:.2f}"
        )
        if name not in sensitivity_worlds.BREAKING:
            assert may_be_at_least(round(plain * n_nights), n_nights, 0.9)


def units_of(kind: str, rng: np.random.Generator, n_units: int) -> tuple[np.ndarray, float]:
    """Probabilities of two labels a unit, (n_units, 2), of a population whose alpha is .95, and that alpha.

    alike: every unit errs with the same e: D_o = 2 e (1 - e), D_e = 1/2, so 4 e (1 - e) = .05.
    split: a tenth of the units is torn, the others are certain: D_o = .1 * 2 e (1 - e), so .4 e (1 - e) = .05.
    """
    product = 0.05 / 4 if kind == "alike" else 0.05 / 0.4
    e = (1 - np.sqrt(1 - 4 * product)) / 2
    is_torn = rng.random(n_units) < (1.0 if kind == "alike" else 0.1)
    wrong = np.where(is_torn, e, 0.0)
    first = np.where(rng.random(n_units) < 0.5, wrong, 1 - wrong)
    return np.column_stack([first, 1 - first]), 0.95


@pytest.mark.parametrize("kind", ["alike", "split"])
def test_pss_low_at_95(kind: str) -> None:
    n_units, n_asks = 30, 10
    n_below = n_between = 0
    for seed in range(N_PAIRS):
        rng = np.random.default_rng([seed, 5])
        shares, alpha = units_of(kind, rng, n_units)
        rows = stability((rng.random((n_units, n_asks)) >= shares[:, :1]).astype(np.int64).T)
        n_below += rows[-1].pss_low <= alpha
        n_between += rows[-1].pss_low <= alpha <= rows[-1].pss_high
    print(f"\n{kind}: pss_low <= .95 in {n_below / N_PAIRS:.3f}, between the bounds in {n_between / N_PAIRS:.3f}")
    assert may_be_at_least(n_below, N_PAIRS, 0.95)


@pytest.mark.parametrize("name", RATE_WORLDS)
@pytest.mark.parametrize(("n", "q"), [(100, 12), (40, 8), (300, 12)])
def test_bounds_of_a_rate_of_few(n: int, q: int, name: str, workers: Workers) -> None:
    for rate in RATES:
        nights = workers.each(partial(bounded_rate, world=RATE_WORLDS[name], n=n, q=q, rate=rate), N_PAIRS)
        n_under, n_over = sum(night.high < rate for night in nights), sum(night.low > rate for night in nights)
        width = np.mean([night.high - night.low for night in nights])
        print(
            f"\n{name} {n} x {q}, {rate}: under the truth {n_under / N_PAIRS:.3f}, over it {n_over / N_PAIRS:.3f}, {width:.4f}"
        )
        assert may_be_at_most(n_under, N_PAIRS, 0.05)
        assert may_be_at_most(n_over, N_PAIRS, 0.05)


RANKINGS = {
    "alike": {},
    "nearly": {"interaction": 0.1},
    "mixed": {"interaction": 0.3},
    "wide": {"gap": 0.5},
    "wide and mixed": {"gap": 0.5, "interaction": 0.3},
    "none": {"gap": 0.0, "interaction": 0.3},
}


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_rankings_without_luck(n: int, name: str, workers: Workers) -> None:
    n_nights = max(1, N_PAIRS // 5)
    nights = workers.each(partial(ranked_night, n=n, **RANKINGS[name]), n_nights)
    defined = [night for night in nights if not np.isnan(night.found.corrected)]
    truth, plain = (np.mean([getattr(night, of) for night in nights]) for of in ("truth", "plain"))
    print(
        f"\n{name}, {n} questions, {n_nights} nights: truth {truth:.3f}, plain {plain:.3f}, told {len(defined) / n_nights:.2f}"
    )
    if len(defined) >= n_nights / 10:
        n_held = sum(night.found.low <= night.truth <= night.found.high for night in defined)
        figures = [night.found.corrected for night in defined]
        width = np.mean([night.found.high - night.found.low for night in defined])
        print(
            f"corrected {np.mean(figures):.3f} (sd {np.std(figures):.3f}), held {n_held / len(defined):.3f}, width {width:.2f}"
        )
        assert may_be_at_least(n_held, len(defined), 0.85)


@pytest.mark.parametrize("wordings", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("n", "q"), [(60, 12), (100, 12), (100, 30), (100, 6), (40, 8)])
def test_wordings_that_break_are_found(n: int, q: int, wordings: float) -> None:
    drawn = {"n": n, "q": q, "wordings": wordings}
    found = {
        n_broken: [broken(right_and_wrong(seed, n_broken=n_broken, **drawn)) for seed in range(250)]
        for n_broken in (0, 1, 2)
    }
    rates = [np.mean([own[:k] == list(range(k)) for own in found[k]]) for k in (1, 2)]
    n_false = sum(bool(own) for own in found[0])
    print(
        f"\n{n} x {q}, deviation of wordings {wordings}: one found in {rates[0]:.3f}, two in {rates[1]:.3f},"
        f" false {n_false / 250:.3f}"
    )
    assert may_be_at_most(n_false, 250, 0.05)
    if q >= 12 and n >= 100 and wordings <= 0.3:
        assert rates[0] == 1


def covers(bounds: np.ndarray, truth: np.ndarray | float) -> float:
    """In what share of the nights the bounds, shape (n_nights, 2), hold the truth."""
    return float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


@pytest.mark.parametrize(
    ("name", "kind", "design"),
    [
        ("usual", "even", FULL),
        ("usual", "rare", Design(200, 12)),
        ("broken", "even", FULL),
        ("lexical", "even", FULL),
        ("families", "even", FULL),
        ("sure", "even", FULL),
        ("sure", "even", FEW),
        ("torn_1", "one", Design(40, 12)),
        ("torn_1", "rare", Design(200, 12)),
    ],
)
def test_bounds_of_consistency_cover(name: str, kind: str, design: Design, workers: Workers) -> None:
    """Those of samples hold the truth under the night's wordings, a percentile bootstrap in nine of ten; the wider hold any."""
    world, gold, n_nights = WORLDS[name], golds(kind, design.n_samples), max(1, N_PAIRS // 2)
    drawn = [np.random.default_rng([seed, 14]) for seed in range(100)]
    truth = float(
        np.mean([true_consistency(rng, world, world.wordings(rng, design.n_variants), gold, 150) for rng in drawn])
    )
    night = partial(night_of_consistency, world=world, kind=kind, design=design, n_resamples=N_RESAMPLES)
    nights = workers.each(night, n_nights)
    bounds = np.array([each.bounds for each in nights])
    own = covers(bounds[:, :2], np.array([each.truth for each in nights]))
    others, too_narrow = covers(bounds[:, 2:], truth), covers(bounds[:, :2], truth)
    widths = np.diff(bounds[:, [0, 1]]).mean(), np.diff(bounds[:, [2, 3]]).mean()
    print(
        f"\n{name} {kind} {design.n_samples} x {design.n_variants}: truth {truth:.4f}, {n_nights} nights, B = {N_RESAMPLES}"
    )
    print(
        f"these wordings {own:.3f} (width {widths[0]:.4f}), other wordings {others:.3f} ({widths[1]:.4f}), by the narrower "
        f"ones {too_narrow:.3f}"
    )
    assert may_be_at_least(round(own * n_nights), n_nights, 0.9)
    assert may_be_at_least(round(others * n_nights), n_nights, 0.95)


@pytest.mark.parametrize(
    ("name", "design"),
    [
        ("usual", FULL),
        ("uneven", FULL),
        ("broken", FULL),
        ("families", FULL),
        ("noise", FEW),
        ("sure", FULL),
        ("sure", FEW),
        ("split_1", FEW),
        ("coin_1", FEW),
    ],
)
def test_bounds_of_shares_cover_other_wordings(name: str, design: Design, workers: Workers) -> None:
    world, n_nights = WORLDS[name], max(1, N_PAIRS // 2)
    truth = true_shares(world, design.n_variants)
    bounds = np.array(workers.each(partial(night_of_shares, world=world, design=design), n_nights))
    bounds = bounds[~np.isnan(bounds).any(axis=(1, 2))]
    print(f"\n{name} {design.n_samples} x {design.n_variants}, {len(bounds)} nights")
    for k, share in enumerate(SHARES):
        narrow, wide = covers(bounds[:, k, :2], truth[k]), covers(bounds[:, k, 2:], truth[k])
        width = np.diff(bounds[:, k, 2:]).mean()
        print(
            f"{share}: truth {truth[k]:.4f}, covered {wide:.3f} (width {width:.4f}), by bounds for these wordings {narrow:.3f}"
        )
        assert may_be_at_least(round(wide * len(bounds)), len(bounds), 0.93)
