"""Prompt stability against the plain alpha, leave-one-out loops and explicit resamples."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t

from promptaudit.udfs.resampling import generator, weights
from promptaudit.udfs.sql_types import Words
from promptaudit.udfs.stability import nominal_series, of_labels, resamples
from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from promptaudit.udfs.stability.prompt_stability import StabilityRow, normal_interval, prompt_stability
from promptaudit.udfs.stability.ratings import MISSING, Ratings, annotations_of, cumulative_and_adjacent
from promptaudit.udfs.stability.resamples import bootstrap_alphas, cell_alphas
from tests.support.plain_krippendorff import krippendorff_alpha

Codes = NDArray[np.int64]
NUMBERS = np.array([0.0, 1.0, 2.5, 7.0])


def stability(
    codes: Codes,
    level: Level = "nominal",
    *,
    is_balanced: bool = False,
    seed: int = 1,
    n_resamples: int = 0,
    is_all_alone: bool = False,
) -> list[StabilityRow]:
    """Rows for codes of shape (n_replicates, n_annotators, n_units) or (n_annotators, n_units)."""
    codes = codes if codes.ndim == 3 else codes[None]
    replicate, annotator, unit = np.indices(codes.shape)
    numbers = NUMBERS if codes.max(initial=0) < 4 else np.arange(codes.max() + 1.0)
    return prompt_stability(
        annotations_of(*(each.ravel() for each in (unit, annotator, replicate, codes))),
        numbers,
        level,
        is_balanced=is_balanced,
        seed=seed,
        n_resamples=n_resamples,
        is_all_alone=is_all_alone,
    )


def plain_alpha(codes: Codes, level: Level, weight: NDArray[np.float64] | None = None) -> float:
    units = [[None if c == MISSING else NUMBERS[c] for c in column] for column in codes.T]
    if weight is not None:
        units = [unit for unit, times in zip(units, weight, strict=True) for _ in range(int(times))]
    return krippendorff_alpha(units, level)


def random_codes(seed: int, k: int = 4, n: int = 12, missing: float = 0.2) -> Codes:
    rng = np.random.default_rng(seed)
    noisy = rng.random((k, n)) < 0.4
    codes = np.where(noisy, rng.integers(0, 4, (k, n)), rng.integers(0, 4, n))
    return np.where(rng.random((k, n)) < missing, MISSING, codes)


def series(rows: list[StabilityRow], name: str) -> list[float]:
    return [row.pss for row in rows if row.series == name]


@pytest.mark.parametrize(("n", "low"), [(30, 0.72405), (100, 0.92007), (500, 0.98418)])
@pytest.mark.parametrize("level", LEVELS)
def test_unanimous_answers_are_never_certain(n: int, low: float, level: Level) -> None:
    codes = np.repeat((np.arange(n) % 2)[None], 10, axis=0)
    row = stability(codes, level, n_resamples=50)[-1]
    assert row.pss == 1
    assert not row.is_degenerate
    assert row.pss_low == pytest.approx(low, abs=1e-5)
    assert row.pss_high == 1
    assert (row.pss_boot_low, row.pss_boot_high) == (1, 1)


@pytest.mark.parametrize("level", LEVELS)
def test_one_label_alone_is_degenerate(level: Level) -> None:
    row = stability(np.full((3, 40), 2), level, n_resamples=20)[-1]
    assert (row.pss, row.is_degenerate, row.pss_boot_low, row.pss_high) == (1, True, 1, 1)
    assert row.pss_low < 0.9


@given(st.integers(0, 100_000), st.sampled_from(LEVELS), st.sampled_from([0.0, 0.2, 0.7]))
@settings(max_examples=60)
def test_every_series_equals_the_plain_alpha(seed: int, level: Level, missing: float) -> None:
    codes = random_codes(seed, missing=missing)
    rows = stability(codes, level)
    cumulative = [plain_alpha(codes[:k], level) for k in range(2, 5)]
    adjacent = [plain_alpha(codes[k - 2 : k], level) for k in range(2, 5)]
    assert series(rows, "cumulative") == pytest.approx(cumulative, abs=1e-9, nan_ok=True)
    assert series(rows, "adjacent") == pytest.approx(adjacent, abs=1e-9, nan_ok=True)
    assert series(rows, "all") == pytest.approx(cumulative[-1:], abs=1e-9, nan_ok=True)
    n_given = (codes != MISSING).sum(axis=0)
    assert rows[-1].n_samples == (n_given > 1).sum()
    assert rows[-1].n_annotations == n_given[n_given > 1].sum()


@given(st.integers(0, 100_000), st.sampled_from(LEVELS))
@settings(max_examples=40)
def test_low_and_high_equal_the_jackknife_by_loops(seed: int, level: Level) -> None:
    codes = random_codes(seed, n=20, missing=0.1)
    codes = codes[:, (codes != MISSING).sum(axis=0) > 1]
    row = stability(codes, level)[-1]
    n_given = (codes != MISSING).sum(axis=0)

    def interval(columns: Codes) -> tuple[float, float]:
        n, alpha = columns.shape[1], plain_alpha(columns, level)
        left_out = np.array([plain_alpha(np.delete(columns, u, axis=1), level) for u in range(n)])
        se = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
        margin = t.ppf(0.975, n - 1) * se / (1 - alpha)
        return 1 - (1 - alpha) * np.exp(margin), 1 - (1 - alpha) * np.exp(-margin)

    counts = np.bincount(codes[codes != MISSING], minlength=4)
    first = int(counts.argmax())
    second = int(np.where(np.arange(4) == first, 0, counts).argmax())
    size = int(np.median(n_given))
    split = np.full((len(codes), 1), MISSING)
    split[: size - size // 2], split[size - size // 2 : size] = first, second
    low, high = interval(codes)
    assert row.pss_low == pytest.approx(max(-1, min(low, interval(np.append(codes, split, axis=1))[0])), abs=1e-9)
    n_disagreeing = sum(len(set(column[column != MISSING])) > 1 for column in codes.T)
    assert row.pss_high == pytest.approx(high if n_disagreeing >= 5 else 1, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_bootstrap_equals_explicit_resamples(level: Level, missing: float) -> None:
    codes = random_codes(8, k=5, n=15, missing=missing)
    codes = codes[:, (codes != MISSING).sum(axis=0) > 1]
    got = bootstrap_alphas([Ratings(codes, NUMBERS, level)], seed=3, n_resamples=12)
    weight = weights(generator(3, 2), codes.shape[1], 12)
    for index, part in enumerate(cumulative_and_adjacent(5)):
        expected = [plain_alpha(codes[part.start : part.stop], level, weight[:, b]) for b in range(12)]
        assert got[index] == pytest.approx(np.array(expected), abs=1e-9, nan_ok=True)


def test_labels_of_a_single_sample_need_no_row_of_their_own() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, (6, 25))  # most labels occur in one unit, some in several
    numbers = np.arange(60.0)
    got = bootstrap_alphas([Ratings(codes, numbers, "nominal")], seed=3, n_resamples=10)
    weight = weights(generator(3, 2), 25, 10)
    for index, part in enumerate(cumulative_and_adjacent(6)):
        columns = codes[part.start : part.stop].T.tolist()
        for b in range(10):
            units = [unit for unit, times in zip(columns, weight[:, b], strict=True) for _ in range(int(times))]
            assert got[index, b] == pytest.approx(krippendorff_alpha(units, "nominal"), abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_cells_of_the_published_package_are_thinned(level: Level) -> None:
    codes = random_codes(8, k=5, n=60, missing=0.1)
    got = cell_alphas([Ratings(codes, NUMBERS, level)], seed=3, n_resamples=15)
    annotator, unit = np.nonzero(codes != MISSING)
    slots = np.argsort(unit * 4 + codes[annotator, unit], kind="stable")  # cells in the order in which they are drawn
    drawn = generator(3, 3).integers(0, len(unit), size=(15, len(unit)))
    for b in range(15):
        kept = slots[np.unique(drawn[b])]
        thinned = np.full_like(codes, MISSING)
        thinned[annotator[kept], unit[kept]] = codes[annotator[kept], unit[kept]]
        assert got[b] == pytest.approx(plain_alpha(thinned, level), abs=1e-9)


def test_the_published_formula_is_about_the_alpha_of_the_first_k_repetitions() -> None:
    # resampled alphas .5, .7, .9: sd .2 (ddof 1); 1.96 * .2 / sqrt(4) = .196 around .8
    found = normal_interval(0.8, np.array([0.5, 0.7, np.nan, 0.9]), 4)
    assert found == pytest.approx((0.604, 0.996), abs=1e-5)
    assert np.isnan(normal_interval(0.8, np.array([0.5, np.nan]), 4)).all()
    codes = random_codes(8, k=5, n=60, missing=0.1)
    rows = stability(codes, n_resamples=100)
    spread = bootstrap_alphas([Ratings(codes, NUMBERS, "nominal")], 1, 100).std(axis=1, ddof=1)
    for k, row in enumerate(rows[:4], start=2):
        alpha, half = plain_alpha(codes[:k], "nominal"), 1.959964 * spread[k - 2] / np.sqrt(k)
        assert (row.series, row.n_annotators) == ("cumulative", k)
        assert (row.pss_z_low, row.pss_z_high) == pytest.approx((alpha - half, alpha + half), abs=1e-6)
    assert (rows[-1].pss_z_low, rows[-1].pss_z_high) == (rows[3].pss_z_low, rows[3].pss_z_high)
    assert all(np.isnan(row.pss_z_low) for row in rows if row.series == "adjacent")
    assert np.isnan(stability(codes)[-1].pss_z_low)


@pytest.mark.parametrize("level", LEVELS)
def test_wordings_add_the_jackknife_over_annotators(level: Level) -> None:
    codes = random_codes(5, k=6, n=40, missing=0.0)
    row = stability(codes, level)[-1]
    alpha = plain_alpha(codes, level)
    units = np.array([plain_alpha(np.delete(codes, u, axis=1), level) for u in range(40)])
    annotators = np.array([plain_alpha(np.delete(codes, a, axis=0), level) for a in range(6)])
    variance = 39 * units.var() + 5 * annotators.var()
    margin = t.ppf(0.975, 5) * np.sqrt(variance) / (1 - alpha)
    assert row.pss_wordings_high == pytest.approx(1 - (1 - alpha) * np.exp(-margin))
    assert row.pss_wordings_low <= 1 - (1 - alpha) * np.exp(margin) + 1e-12
    assert row.pss_wordings_low < row.pss_low


def test_replicates_are_averaged() -> None:
    codes = np.stack([random_codes(1), random_codes(2), np.full((4, 12), MISSING)])
    rows = stability(codes, n_resamples=30)
    first, second = stability(codes[0]), stability(codes[1])
    expected = (np.array(series(first, "cumulative")) + series(second, "cumulative")) / 2
    assert series(rows, "cumulative") == pytest.approx(expected)
    assert rows[-1].n_annotations == first[-1].n_annotations + second[-1].n_annotations
    assert rows[-1].pss_low < rows[-1].pss < rows[-1].pss_high
    assert rows[-1].pss_boot_low < rows[-1].pss < rows[-1].pss_boot_high


def small(codes: Codes) -> Codes:
    """Fewer pairable units than half of the 12 that there are."""
    return np.where(np.arange(12) < 5, codes, MISSING)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("left_out", [np.full((4, 12), 2), small(random_codes(2, missing=0.0))])
def test_replicates_that_do_not_count_change_no_figure(level: Level, left_out: Codes) -> None:
    first, second = random_codes(1, missing=0.0), random_codes(3, missing=0.0)
    with_it, without = (
        stability(np.stack(codes), level, n_resamples=30) for codes in ((first, left_out, second), (first, second))
    )
    assert [astuple(row) for row in with_it] == [pytest.approx(astuple(row), nan_ok=True) for row in without]
    expected = np.mean([plain_alpha(codes, level) for codes in (first, second)])
    assert with_it[-1].pss == pytest.approx(expected, abs=1e-9)
    (alone,) = stability(np.stack([first, left_out, second]), level, is_all_alone=True)
    assert alone.pss == pytest.approx(expected, abs=1e-9)


def test_a_replicate_that_an_annotator_lacks_is_left_out() -> None:
    first, second = random_codes(1, missing=0.0), random_codes(3, missing=0.0)
    replicate, annotator, unit = np.indices((2, 4, 12))
    label = np.stack([first, second])
    is_asked = (replicate == 0) | (annotator != 2)

    def rows(is_there: NDArray[np.bool_]) -> list[StabilityRow]:
        columns = (each[is_there] for each in (unit, annotator, replicate, label))
        return prompt_stability(annotations_of(*columns), NUMBERS, "nominal", is_balanced=False, seed=1, n_resamples=20)

    assert rows(is_asked)[-1] == stability(first, n_resamples=20)[-1]
    # the one has the first replicate, the others the second: nothing to pair
    assert rows((replicate == 0) == (annotator == 2)) == []


def test_of_an_entry_that_stands_twice_the_last_counts() -> None:
    sample, annotator, label = np.array([7, 9, 7, 9, 7]), np.array([1, 1, 2, 2, 1]), np.array([0, 1, 2, 1, 2])
    table = annotations_of(sample, annotator, np.zeros(5, np.int64), label, np.array([4, 4, 5, 5, 5]))
    assert table.label.tolist() == [[[2, 1], [2, 1]]]
    assert (table.units.tolist(), table.families.tolist(), table.is_even) == ([7, 9], [0, 0], True)


@pytest.mark.parametrize("level", LEVELS)
def test_degenerate_replicates_alone_give_one(level: Level) -> None:
    row = stability(np.stack([np.full((3, 12), 2), np.full((3, 12), 1)]), level, n_resamples=10)[-1]
    assert (row.pss, row.is_degenerate, row.n_samples, row.n_annotations) == (1, True, 12, 72)


@pytest.mark.parametrize("level", LEVELS)
def test_a_resample_without_variation_in_one_replicate_is_about_the_other(level: Level) -> None:
    varied, nearly = random_codes(1, missing=0.0), np.zeros((4, 12), np.int64)
    nearly[0, 0] = 1  # a resample without the first unit has one label
    pair = [Ratings(codes, NUMBERS, level) for codes in (varied, nearly)]
    got = bootstrap_alphas(pair, seed=3, n_resamples=12)[2]
    weight = weights(generator(3, 2), 12, 12)
    assert {True, False} == set((weight[0] == 0).tolist())
    for b in range(12):
        parts = [plain_alpha(varied, level, weight[:, b])]
        if weight[0, b]:
            parts.append(plain_alpha(nearly, level, weight[:, b]))
        assert got[b] == pytest.approx(np.mean(parts), abs=1e-9)


@given(st.integers(0, 100_000), st.sampled_from(LEVELS))
@settings(max_examples=25)
def test_order_of_samples_and_spelling_of_labels_change_nothing(seed: int, level: Level) -> None:
    rng = np.random.default_rng(seed)
    codes = random_codes(seed)
    renamed = np.append(rng.permutation(4), MISSING)[codes] if level == "nominal" else codes
    shuffled = renamed[:, rng.permutation(12)]
    assert series(stability(shuffled, level), "cumulative") == pytest.approx(
        series(stability(codes, level), "cumulative"), abs=1e-9, nan_ok=True
    )


def test_duplicated_annotators_change_alpha() -> None:
    codes = random_codes(3, missing=0.0)
    assert stability(np.repeat(codes, 2, axis=0))[-1].pss != pytest.approx(stability(codes)[-1].pss, abs=1e-3)


def test_balanced_cuts_every_annotator_to_the_smallest() -> None:
    codes = random_codes(6, n=40, missing=0.0)
    codes[2, 10:] = MISSING
    row, again = (stability(codes, is_balanced=True, n_resamples=5)[-1] for _ in range(2))
    assert row.n_annotations <= 4 * 10
    assert again == row
    codes[2] = MISSING
    assert np.isnan(series(stability(codes, is_balanced=True), "cumulative")).all()


def test_the_same_seed_gives_the_same_figures() -> None:
    codes = random_codes(6, missing=0.0)
    first, again, other = (stability(codes, n_resamples=40, seed=s)[-1] for s in (5, 5, 6))
    assert first == again
    assert first.pss_boot_low != other.pss_boot_low


def test_edges() -> None:
    assert stability(np.zeros((1, 5), np.int64)) == []
    nothing = stability(np.full((3, 4), MISSING), n_resamples=10)
    assert len(nothing) == 5
    assert np.isnan([row.pss for row in nothing]).all()
    assert nothing[-1].is_degenerate is None
    single = stability(np.array([[0], [1], [1]]), n_resamples=10)[-1]
    assert single.pss == pytest.approx(plain_alpha(np.array([[0], [1], [1]]), "nominal"))
    assert single.pss_low >= -1
    with pytest.raises(ValueError, match="nominal, ordinal, interval"):
        stability(np.zeros((2, 5), np.int64), "ratio")  # type: ignore[arg-type]


def test_beyond_60_annotators_every_tenth_and_the_last_is_shown() -> None:
    table = np.random.default_rng(5).integers(0, 2, (20, 73))
    rows = stability(table.T, n_resamples=20)
    for name in ("cumulative", "adjacent"):
        shown = [row for row in rows if row.series == name]
        assert [row.n_annotators for row in shown] == [*range(2, 61), 70, 73]
        assert all(row.pss_boot_low < row.pss_boot_high for row in shown)
    last = next(row for row in rows if row.series == "cumulative" and row.n_annotators == 70)
    assert last.pss == pytest.approx(krippendorff_alpha(table[:, :70].tolist(), "nominal"), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.5, 0.9, 1.0])
def test_all_annotators_alone_have_the_same_figure(level: Level, missing: float) -> None:
    for seed in range(5):
        codes = random_codes(seed, k=2 + seed, missing=missing)
        (alone,), among = stability(codes, level, is_all_alone=True), stability(codes, level)[-1]
        same = replace(among, pss_wordings_low=np.nan, pss_wordings_high=np.nan)  # without other wordings
        assert astuple(alone) == pytest.approx(astuple(same), abs=1e-12, nan_ok=True)
    for unanimous in (np.zeros((3, 6), np.int64), np.full((1, 3, 6), 2)):
        (alone,) = stability(unanimous, level, is_all_alone=True)
        assert astuple(alone)[2:5] == pytest.approx(astuple(stability(unanimous, level)[-1])[2:5], abs=1e-12)
    assert stability(np.zeros((1, 6), np.int64), level, is_all_alone=True) == []


@pytest.mark.parametrize("missing", [0.0, 0.5, 0.9])
def test_all_series_at_once_equal_one_after_another(monkeypatch: pytest.MonkeyPatch, missing: float) -> None:
    codes = np.stack([random_codes(seed, k=6, n=12, missing=missing) for seed in (1, 2)])
    codes[1, :, :4] = MISSING  # a replicate may lack what the other has
    at_once = stability(codes, n_resamples=30)
    monkeypatch.setattr(nominal_series, "_BATCHED_CELLS", 0)
    monkeypatch.setattr(resamples, "_BATCHED_COUNTS", -1)
    one_by_one = stability(codes, n_resamples=30)
    for ours, plain in zip(at_once, one_by_one, strict=True):
        assert astuple(ours)[1:] == pytest.approx(astuple(plain)[1:], abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_copies_of_an_annotator_say_no_more_where_they_are_a_family(level: Level) -> None:
    rng = np.random.default_rng(2)
    codes = np.where(rng.random((8, 40)) < 0.3, rng.integers(0, 3, (8, 40)), rng.integers(0, 3, 40))

    def everyone(table: NDArray[np.int64], family: NDArray[np.int64] | None) -> StabilityRow:
        annotator, sample = (axis.ravel() for axis in np.indices(table.shape))
        return prompt_stability(
            annotations_of(
                sample,
                annotator,
                np.zeros(table.size, np.int64),
                table.ravel(),
                None if family is None else family[annotator],
            ),
            np.arange(3.0),
            level,
            is_balanced=False,
            seed=1,
            n_resamples=0,
        )[-1]

    alone, own = everyone(codes, None), everyone(codes, np.arange(8))
    assert (alone.pss_wordings_low, alone.pss_wordings_high) == (own.pss_wordings_low, own.pss_wordings_high)
    twice = np.repeat(codes, 2, axis=0)
    apart, together = everyone(twice, None), everyone(twice, np.arange(16) // 2)
    assert together.pss_wordings_low < apart.pss_wordings_low
    without = [everyone(np.delete(twice, [2 * k, 2 * k + 1], axis=0), None).pss for k in range(8)]
    spread = 7 * float(np.var(without))
    plain = everyone(twice, np.zeros(16, np.int64))
    assert np.isnan(plain.pss_wordings_low)
    # the interval over samples, widened by the families' variance: on ln(1 - alpha), with the fewer degrees of freedom
    se_samples = np.log((1 - plain.pss_low) / (1 - plain.pss)) * (1 - plain.pss) / t.ppf(0.975, 39)
    half = t.ppf(0.975, 7) * np.sqrt(se_samples**2 + spread) / (1 - plain.pss)
    assert together.pss_wordings_low == pytest.approx(1 - (1 - plain.pss) * np.exp(half), abs=0.01)


def test_no_figure_hangs_on_what_labels_are_called_or_on_what_was_measured_before() -> None:
    rng = np.random.default_rng(5)
    sample, annotator = (each.ravel() for each in np.indices((12, 4)))
    label = np.where(rng.random(48) < 0.7, sample % 4, rng.integers(-1, 4, 48))
    found = []
    for names in (["a", "b", "c", "d"], ["d", "c", "b", "a"]):
        code = np.append(np.argsort(np.argsort(names)), -1)[label]
        of_labels._kept.clear()
        words = Words(code, sorted(names))
        found.append(
            of_labels.prompt_stability_of_labels(
                sample, annotator, annotator, np.zeros(48, np.int64), words, "nominal", False, 7, 200
            )
        )
    assert str(found[0]) == str(found[1])
