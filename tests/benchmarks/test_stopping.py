"""Runs that stop early beside the same runs asked in full: how often each is wrong or finds what is there, for how much."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from tests.udfs.comparison_worlds import (
    MODEL,
    STEADY,
    Answers,
    Codes,
    Design,
    Effects,
    Model,
    World,
    compared,
    less_skilled,
    mixed,
    same,
)
from tests.udfs.one_night_worlds import WORLDS
from udfs.designs import N_LOOKS
from udfs.designs.stopping import rule_at, scale_of
from udfs.designs.stopping_pairs import ONE_SIDED, WATCHED, night_at, pair_at, watched_differences
from udfs.measures.sensitivity import sensitivity_interval
from udfs.stability.prompt_stability import prompt_stability
from udfs.two_way import two_way_interval

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

GROUND_TRUTH = Path(__file__).parents[2].parent / "shared" / "ground_truth"
needs_recorded_answers = pytest.mark.skipif(
    not GROUND_TRUTH.is_dir(), reason=f"reference data are not at {GROUND_TRUTH}"
)
N_LABELS = 5
MIN_EFFECT = 0.02
Batches = list[int]


def batches(n_samples: int) -> Batches:
    """How many samples have been asked at each look."""
    return [n_samples * look // N_LOOKS for look in range(1, N_LOOKS + 1)]


# ---------------------------------------------------------------- gates
class Run(NamedTuple):
    """Labels of samples under wordings (N, Q), the last class being N/A, and gold (N,)."""

    labels: Codes
    gold: Codes
    n_classes: int


Draw = Callable[[np.random.Generator, int, int], Run]
GATED = ("sensitivity", "micro_f1", "invalid_rate", "pss_inter")


def simulated(world: str) -> Draw:
    def draw(rng: np.random.Generator, n: int, q: int) -> Run:
        gold, own = rng.integers(0, N_LABELS, n), WORLDS[world]
        p = own.probabilities(rng, gold, own.wordings(rng, q))
        return Run((rng.random((n, q, 1)) >= p.cumsum(axis=2)[:, :, :-1]).sum(axis=2), gold, N_LABELS + 1)

    return draw


def failing(samples: float, answers: float) -> Draw:
    """A share of the samples has a share of their answers outside the labels; all others are right."""

    def draw(rng: np.random.Generator, n: int, q: int) -> Run:
        gold = rng.integers(0, N_LABELS, n)
        is_outside = (rng.random((n, 1)) < samples) & (rng.random((n, q)) < answers)
        return Run(np.where(is_outside, N_LABELS, gold[:, None]), gold, N_LABELS + 1)

    return draw


@functools.cache
def recorded_run() -> Run:
    """A recorded run of 500 samples under 30 wordings."""
    table = pl.read_parquet(GROUND_TRUTH / "robustness_trec500.parquet")
    table = table.with_columns(pl.col("sample_id").cast(pl.Int64)).sort("sample_id", "variant_index")
    labels = [*sorted(table["gold_label"].unique().to_list()), "N/A"]
    codes, gold = (
        table[name].replace_strict(labels, range(len(labels)), return_dtype=pl.Int64).to_numpy().reshape(-1, 30)
        for name in ("completion", "gold_label")
    )
    return Run(codes, gold[:, 0], len(labels))


def recorded(rng: np.random.Generator, n: int, q: int) -> Run:
    """Samples drawn from those of the recorded run, under as many of its wordings."""
    run = recorded_run()
    drawn = rng.integers(0, len(run.gold), n)
    return Run(run.labels[drawn][:, rng.permutation(30)[:q]], run.gold[drawn], run.n_classes)


def scorecard(run: Run) -> list[tuple[float, float, float]]:
    """The estimate of each gated measure with its bounds."""
    sample, wording = np.nonzero(np.ones(run.labels.shape))
    label, one = run.labels[sample, wording], np.ones(run.labels.size)
    means = (
        two_way_interval(sample, wording, is_so.astype(np.float64))
        for is_so in (label == run.gold[sample], label == run.n_classes - 1)
    )
    stability = prompt_stability(
        sample, wording, np.zeros_like(sample), label, np.arange(float(run.n_classes)), "nominal",
        is_balanced=False, seed=0, n_resamples=0, is_all_alone=True,
    )[-1]  # fmt: skip
    return [
        tuple(sensitivity_interval(sample, wording, label, one, run.n_classes)),
        *((each.mean, each.low, each.high) for each in means),
        (stability.pss, stability.pss_low, stability.pss_high),
    ]


class GateOutcome(NamedTuple):
    """Shares of runs that pass asked in full, stopped by looks, and at any look not widened; and the share of requests."""

    fixed: float
    stopped: float
    peeking: float
    requests: float


class GateRuns:
    """Scorecards of runs at every look, of shape (n_runs, N_LOOKS, measures, 3)."""

    def __init__(self, draw: Draw, n: int, q: int, n_runs: int) -> None:
        """Draws the runs."""
        self.sizes = batches(n)
        cards = []
        for seed in range(n_runs):
            run = draw(np.random.default_rng([seed, 77]), n, q)
            cards.append([scorecard(Run(run.labels[:k], run.gold[:k], run.n_classes)) for k in self.sizes])
        self.cards = np.array(cards)

    def truth(self, measure: str) -> tuple[float, float]:
        """Mean and standard deviation of the measure in full runs."""
        figures = self.cards[:, -1, GATED.index(measure), 0]
        return float(figures.mean()), float(figures.std())

    def outcome(self, measure: str, limit: float, *, is_upper: bool) -> GateOutcome:
        """What `x_high <= limit`, or `x_low >= limit`, makes of the runs."""
        cards, end = self.cards[:, :, GATED.index(measure)], 2 if is_upper else 1
        within = cards[:, :, end] <= limit if is_upper else cards[:, :, end] >= limit
        passes, looks = [], []
        for card in cards:
            for look, (figures, n) in enumerate(zip(card, self.sizes, strict=True), 1):
                decided = rule_at(
                    look, *figures, n_samples=n, part="high" if is_upper else "low",
                    operator="<=" if is_upper else ">=", limit=limit, scale=scale_of(measure),
                ).passes  # fmt: skip
                if decided is not None or look == N_LOOKS:
                    passes.append(bool(decided))
                    looks.append(look)
                    break
        return GateOutcome(
            within[:, -1].mean(), float(np.mean(passes)), within.any(axis=1).mean(), float(np.mean(looks)) / N_LOOKS
        )


GATES = {
    "recorded answers, 500 x 30": (recorded, 500, 30, 1000),
    "recorded answers, 100 x 12": (recorded, 100, 12, 1000),
    "usual, 500 x 12": (simulated("usual"), 500, 12, 600),
    "usual, 60 x 12": (simulated("usual"), 60, 12, 1500),
    "usual, 30 x 6": (simulated("usual"), 30, 6, 2000),
    "wordings matter, 100 x 8": (simulated("uneven"), 100, 8, 1500),
    "nearly unanimous, 500 x 12": (simulated("sure"), 500, 12, 800),
    "a tenth always fails, 100 x 12": (failing(0.1, 1.0), 100, 12, 1500),
    "a thirtieth always fails, 500 x 12": (failing(0.03, 1.0), 500, 12, 1000),
    "a twentieth fails by half, 100 x 12": (failing(0.05, 0.5), 100, 12, 1500),
}


@pytest.mark.parametrize("name", GATES)
def test_gates(name: str) -> None:
    draw, n, q, n_runs = GATES[name]
    if draw is recorded and not GROUND_TRUTH.is_dir():
        pytest.skip(f"reference data are not at {GROUND_TRUTH}")
    runs = GateRuns(draw, n, q, n_runs)
    print(
        f"\n{name}, {n_runs} runs: limit in standard deviations from the truth; passes in full, stopped, peeking; requests"
    )
    for measure in GATED:
        truth, sd = runs.truth(measure)
        if sd < 1e-9:
            continue
        for is_upper in (True, False):
            sign = 1 if is_upper else -1
            found = {away: runs.outcome(measure, truth + sign * away * sd, is_upper=is_upper) for away in (-3, 0, 3, 5)}
            row = (
                f"{away:+}: {each.fixed:.3f} {each.stopped:.3f} {each.peeking:.3f} {each.requests:.2f}"
                for away, each in found.items()
            )
            print(f"  {measure:<13}{truth:7.3f} {'high <=' if is_upper else 'low  >='}  {'   '.join(row)}")
            assert found[0].stopped <= found[0].fixed + 0.025
            assert found[-3].stopped <= 0.005
            assert all(each.stopped >= each.fixed - 0.01 for each in found.values())
            assert found[5].requests <= 1


@needs_recorded_answers
def test_the_gate_of_sensitivity_on_recorded_answers() -> None:
    runs = GateRuns(recorded, 500, 30, 1000)
    truth, _ = runs.truth("sensitivity")
    found = {above: runs.outcome("sensitivity", truth + above, is_upper=True) for above in (0, 0.03, 0.05, 0.1)}
    print(
        f"\nsensitivity {truth:.3f} of recorded answers, 500 x 30: limit above it; in full, stopped, peeking; requests"
    )
    for above, each in found.items():
        print(f"  +{above:.2f}  {each.fixed:.3f} {each.stopped:.3f} {each.peeking:.3f}  {each.requests:.2f}")
    assert found[0].stopped <= 0.04
    assert found[0.03].stopped >= 0.8
    assert found[0.03].requests <= 0.82
    assert found[0.05].stopped >= 0.99
    assert found[0.05].requests <= 0.6
    assert found[0.1].stopped == 1
    assert found[0.1].requests <= 0.4


# ---------------------------------------------------------------- night against night
def swapped(kept: float) -> Callable[[np.random.Generator, Effects], Effects]:
    """Samples are answered otherwise, so that nothing but the answers changes."""

    def second(rng: np.random.Generator, first: Effects) -> Effects:
        return first._replace(samples=mixed(rng, first.samples, kept), both=mixed(rng, first.both, kept))

    return second


def flipped(share: float) -> Callable[[np.random.Generator, Effects], Effects]:
    """A share of the samples loses the right label under every wording."""

    def second(rng: np.random.Generator, first: Effects) -> Effects:
        is_hit, samples = rng.random(len(first.gold)) < share, first.samples.copy()
        samples[is_hit, first.gold[is_hit]] -= 6
        return first._replace(samples=samples)

    return second


@dataclass(frozen=True)
class Nights:
    """A pair of nights to draw.

    Attributes:
        world: what differs.
        design: of both nights.
        measure: what is found, if anything is.
        requests: no more of them than this.
        n_pairs: drawn.
    """

    world: World
    design: Design
    measure: str | None
    requests: float
    n_pairs: int = 100


def worse(model: Model, difference: float) -> World:
    return World(same, model, less_skilled(model, difference, Design(250, 12)))


LARGE, MIDDLE, SMALL = Design(500, 12), Design(100, 12), Design(60, 12)
NIGHTS = {
    "quiet, 500 x 12": Nights(World(same, MODEL), LARGE, None, 0.75),
    "quiet, 100 x 12": Nights(World(same, MODEL), MIDDLE, None, 0.95, 200),
    "quiet, 60 x 12": Nights(World(same, MODEL), SMALL, None, 0.95, 200),
    "quiet, 30 x 6": Nights(World(same, MODEL), Design(30, 6), None, 1.0, 200),
    "quiet at temperature 0, 500 x 12": Nights(World(same, STEADY), LARGE, None, 0.5),
    "quiet at temperature 0, 60 x 12": Nights(World(same, STEADY), SMALL, None, 0.5, 200),
    "micro-F1 -.057, 500 x 12": Nights(worse(MODEL, 0.057), LARGE, "micro_f1", 0.45),
    "micro-F1 -.030, 500 x 12": Nights(worse(MODEL, 0.030), LARGE, "micro_f1", 0.75),
    "micro-F1 -.057, 60 x 12": Nights(worse(MODEL, 0.057), SMALL, "micro_f1", 0.85, 200),
    "other answers, churn .071, 500 x 12": Nights(World(swapped(0.7), MODEL), LARGE, "label_churn", 0.45),
    "other answers, churn .026, 500 x 12": Nights(World(swapped(0.9), MODEL), LARGE, "label_churn", 0.7),
    "other answers, churn .014, 500 x 12": Nights(World(swapped(0.95), MODEL), LARGE, "label_churn", 0.9, 200),
    "temperature 0, 6 % of samples lost, 200 x 12": Nights(
        World(flipped(0.06), STEADY), Design(200, 12), "micro_f1", 0.95, 200
    ),
}  # fmt: skip


class PairOutcome(NamedTuple):
    """How a pair of nights ended: at which look, with which decision, and which watched measures the comparisons call."""

    look: int
    decision: str | None
    stopped: set[str]
    fixed: set[str]


def called(answers: Answers, design: Design, seed: int) -> set[str]:
    """Watched measures that differ by chance in .05 of four, and by min_effect."""
    rows = compared(answers, design, seed=seed, n_resamples=1000)
    return {
        measure for measure in WATCHED
        if rows[measure].p_value <= 0.05 / len(WATCHED) and abs(rows[measure].difference) >= MIN_EFFECT
    }  # fmt: skip


def pair_outcome(answers: Answers, design: Design, seed: int) -> PairOutcome:
    for look, n in enumerate(batches(design.n_samples), 1):
        asked = Answers(*(column[answers.sample < n] for column in answers))
        by_sample = watched_differences(*asked, n_classes=design.n_labels + 1)
        decision = night_at(
            [
                pair_at(
                    look, by_sample[measure], min_effect=MIN_EFFECT, n_comparisons=len(WATCHED),
                    is_one_sided=measure in ONE_SIDED,
                )
                for measure in by_sample
            ]
        )  # fmt: skip
        if decision or look == N_LOOKS:
            fixed = called(answers, design, seed)
            stopped = fixed if look == N_LOOKS else called(asked, replace(design, n_samples=n), seed)
            return PairOutcome(look, decision, stopped, fixed)
    raise AssertionError


def table_of(name: str, outcomes: list[PairOutcome], measure: str | None) -> dict[str, float]:
    """Prints and returns shares of the pairs."""
    wanted = set(WATCHED) if measure is None else {measure}
    found = {
        "requests": np.mean([each.look for each in outcomes]) / N_LOOKS,
        "moved": np.mean([each.decision == "moved" for each in outcomes]),
        "quiet": np.mean([each.decision == "quiet" for each in outcomes]),
        "fixed": np.mean([bool(wanted & each.fixed) for each in outcomes]),
        "stopped": np.mean([bool(wanted & each.stopped) for each in outcomes]),
        "early": np.mean([bool(each.stopped) and not each.fixed for each in outcomes]),
        "lost": np.mean([bool(each.fixed) and not each.stopped for each in outcomes]),
    }
    figures = ", ".join(f"{key} {value:.3f}" for key, value in found.items())
    print(f"\n{name}, {len(outcomes)} pairs, {measure or 'anything'} called: {figures}")
    return {key: float(value) for key, value in found.items()}


@pytest.mark.parametrize("name", NIGHTS)
def test_nights(name: str) -> None:
    nights = NIGHTS[name]
    outcomes = [
        pair_outcome(nights.world.pair(seed, nights.design), nights.design, seed) for seed in range(nights.n_pairs)
    ]
    found = table_of(name, outcomes, nights.measure)
    assert found["requests"] <= nights.requests
    assert (
        found["stopped"] >= found["fixed"] - 0.05
    )  # a night that stops for another measure has less to show of this one
    assert found["early"] <= 0.03
    assert found["lost"] <= 0.02
    if nights.measure is None:
        assert found["moved"] <= 0.02
        assert found["stopped"] <= found["fixed"] + 0.02


def repeated(name: str) -> Codes:
    """Recorded answers of one model to one prompt, samples x repetitions; -1 is none of the usual labels."""
    table = pl.read_parquet(GROUND_TRUTH / f"pss_intra_{name}.parquet").sort("sample_id", "repetition")
    usual = table["completion"].str.strip_chars().value_counts(sort=True).head(N_LABELS)["completion"].to_list()
    codes = table["completion"].str.strip_chars().replace_strict(usual, range(len(usual)), default=-1)
    return codes.to_numpy().reshape(table["sample_id"].n_unique(), -1).astype(np.int64)


def recorded_nights(rng: np.random.Generator, answers: Codes, design: Design, share: float) -> Answers:
    """Two nights of six wordings asked twice, of answers that were given to one; in the second a share is of another sample."""
    drawn = answers[rng.integers(0, len(answers), design.n_samples)]
    gold = np.array([np.bincount(row[row >= 0], minlength=1).argmax() for row in drawn])
    dealt = rng.permuted(drawn, axis=1)[:, :24].reshape(len(drawn), 2, 6, 2)
    foreign = rng.random(len(drawn)) < share
    dealt[foreign, 1] = dealt[rng.permutation(len(drawn))[: foreign.sum()], 1]
    sample, side, wording, ask = np.indices(dealt.shape).reshape(4, -1)
    return Answers(side, sample, wording, np.full(len(side), -1), wording == 0, ask + 1, dealt.ravel(), gold[sample])


@needs_recorded_answers
@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("name", ["synth_short", "news_short"])
def test_nights_of_recorded_answers(name: str, share: float) -> None:
    answers, design = repeated(name), Design(500, 6)
    outcomes = [
        pair_outcome(recorded_nights(np.random.default_rng([seed, 3]), answers, design, share), design, seed)
        for seed in range(100)
    ]
    found = table_of(f"recorded {name}, {share:.0%} of samples answered as others", outcomes, None)
    assert found["lost"] <= 0.02
    assert found["early"] <= 0.03
    if share == 0:
        assert found["moved"] <= 0.02
        assert found["requests"] <= 0.75
