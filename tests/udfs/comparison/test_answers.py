"""Labels of two runs compared: by hand, against every exchange, and what must not matter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from promptaudit.udfs.comparison import Compared, compare_answers, detectable_difference
from promptaudit.udfs.stability.krippendorff import Level
from tests.udfs.comparison.plain_runs import random_answers

Columns = list[NDArray]
SIDE, SAMPLE, VARIANT, _, _, REPETITION, LABEL, GOLD = range(8)

QUALITY = ["sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_intra", "pss_inter", "label_churn"]


def compared(
    columns: Columns, *, n_labels: int = 3, level: Level = "nominal", n_resamples: int = 400, seed: int = 1
) -> dict[str, Compared]:
    rows = compare_answers(
        *columns,
        n_classes=n_labels + 1,
        level=level,
        numbers=np.arange(n_labels, dtype=np.float64),
        seed=seed,
        n_resamples=n_resamples,
    )
    return {row.measure: row for row in rows}


def columns_of(base: NDArray, candidate: NDArray, gold: list[int], *, first_codes: tuple[int, int] = (0, 0)) -> Columns:
    """From labels of samples x variants x repetitions of either run, -2 where an answer is missing; variant 0 is the original."""
    parts = []
    for side, labels in enumerate((base, candidate)):
        i, v, r = np.nonzero(labels != -2)
        own = np.full(len(i), side)
        parts.append((own, i, v + first_codes[side], own * 0 - 1, v == 0, r + 1, labels[i, v, r], np.array(gold)[i]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def assert_same(rows: dict[str, Compared], others: dict[str, Compared]) -> None:
    assert list(rows) == list(others)
    for name, row in rows.items():
        assert others[name] == pytest.approx(row, nan_ok=True)


def kept(columns: Columns, which: NDArray[np.bool_]) -> Columns:
    return [column[which] for column in columns]


A, B, NA = 0, 1, -1
BASE = np.array([[[A], [A]], [[A], [B]], [[B], [B]], [[B], [B]]])
CANDIDATE = np.array([[[A], [B]], [[A], [B]], [[B], [A]], [[B], [NA]]])
RIGHT = [A, A, B, B]


def test_four_samples_by_hand() -> None:
    rows = compared(columns_of(BASE, CANDIDATE, RIGHT), n_labels=2, n_resamples=4000)
    one_split = np.log(2) / np.log(3)  # entropy of one answer each way, of three classes with N/A
    sensitivity = rows["sensitivity"]
    assert (sensitivity.base, sensitivity.candidate) == pytest.approx((one_split / 4, one_split))
    # three of four samples moved, alike: |sum of signs| is 3 in 2 of 8 ways
    assert sensitivity.p_value_samples == pytest.approx(0.25, abs=0.03)
    # two variants have no jackknife, and of two exchanges one is the other way round: p is 1
    assert sensitivity.p_value == 1
    # right: variant 0 always, variant 1 in 3 of 4, then in 0 of 4 (A, A, B, B is answered B, B, A, N/A)
    micro_f1 = rows["micro_f1"]
    assert (micro_f1.base, micro_f1.candidate) == pytest.approx((7 / 8, 4 / 8))
    assert rows["invalid_rate"].difference == pytest.approx(1 / 8)
    # class A: p_tau (1, 0) and (.5, .5), distance .5, twice of four pairs; class B: none. Then all within classes equal
    consistency = rows["consistency"]
    assert consistency.base == pytest.approx(1 - (2 * 0.5) / 8)
    # candidate, class B: (.5, .5, 0) and (0, .5, .5): distance .5
    assert consistency.candidate == pytest.approx(1 - (2 * 0.5) / 8)
    assert rows["label_churn"].reason == "asked once: noise and change cannot be told apart"
    # 3 of 8 cells changed
    assert rows["label_churn"].candidate == pytest.approx(3 / 8)
    assert "pss_intra" not in rows


def test_p_value_of_samples_is_that_of_every_exchange() -> None:
    rng = np.random.default_rng(4)
    base = rng.integers(0, 2, (9, 5, 1))
    candidate = np.where(rng.random((9, 5, 1)) < 0.5, rng.integers(0, 2, (9, 5, 1)), base)
    entropies = []
    for run in (base, candidate):
        share = (run[:, :, 0] == 0).mean(axis=1)
        entropies.append(-sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-9)), 0) for p in (share, 1 - share)))
    change = entropies[1] - entropies[0]
    every = np.abs(np.array(list(product((-1, 1), repeat=9))) @ change)
    exact = float(np.mean(every >= abs(change.sum()) - 1e-12))
    row = compared(columns_of(base, candidate, [-1] * 9), n_labels=2, n_resamples=20_000)["sensitivity"]
    assert row.p_value_samples == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_run_against_itself(level: Level) -> None:
    columns = random_answers(3, n=8, q=13)
    base = kept(columns, columns[SIDE] == 0)
    both = [np.concatenate([column, column]) for column in base]
    both[SIDE] = np.repeat([0, 1], len(base[0]))
    rows = compared(both, level=level)
    assert list(rows) == QUALITY
    for row in rows.values():
        assert row.reason is None
        if row.measure == "label_churn":  # the same answers: across is within, less what R (R - 1) adds
            assert row.difference < 0
            assert row.p_value > 0.5
        else:
            assert (row.difference, row.p_value) == (0, 1)
            assert row.low <= 0 <= row.high or np.isnan(row.low)


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=8)
def test_exchanging_base_and_candidate_turns_the_sign(seed: int, redrawn: bool) -> None:
    columns = random_answers(seed, n=6, q=11, redrawn=redrawn)
    forth = compared(columns, n_resamples=100)
    columns[SIDE] = 1 - columns[SIDE]
    back = compared(columns, n_resamples=100)
    assert list(forth) == list(back)
    for name, row in forth.items():
        if name == "label_churn":
            continue
        assert (back[name].base, back[name].candidate) == (row.candidate, row.base)
        assert (back[name].low, back[name].high) == pytest.approx((-row.high, -row.low), nan_ok=True)
        for field in ("p_value", "p_value_samples", "p_value_variants", "standard_error"):
            assert getattr(back[name], field) == pytest.approx(getattr(row, field), abs=0, nan_ok=True)


@given(st.integers(0, 1000))
@settings(max_examples=8)
def test_order_of_rows_and_names_of_samples_variants_and_labels_do_not_matter(seed: int) -> None:
    columns = random_answers(seed, n=6, q=4)
    rows = compared(columns, n_resamples=100)
    other = kept(columns, np.random.default_rng(seed).permutation(len(columns[0])))
    other[SAMPLE] = other[SAMPLE] * 10**12 - 5  # in the same order, so that draws fall alike
    other[VARIANT] = other[VARIANT] * 10**12 - 5
    same = compared(other, n_resamples=100)
    assert_same(same, rows)
    other[LABEL] = np.array([2, 0, 1, -1])[other[LABEL]]
    other[GOLD] = np.array([2, 0, 1, -1])[other[GOLD]]
    renamed = compared(other, n_resamples=100)
    for name, row in rows.items():
        assert (renamed[name].base, renamed[name].candidate) == pytest.approx((row.base, row.candidate), nan_ok=True)


def test_repetitions_that_one_run_alone_has_do_not_count() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.integers(0, 2, (2, 6, 4, 3))
    candidate[:, :, 2] = -2
    once = compared(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2)
    base[:, :, 2] = 1 - base[:, :, 2]
    assert_same(compared(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2), once)
    assert once["sensitivity"].n_repetitions == 2


def test_a_cell_that_one_run_lacks_leaves_both() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.integers(0, 2, (2, 6, 4, 2))
    candidate[2, 3] = -2
    rows = compared(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2)
    base[2, 3] = -2
    assert_same(compared(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2), rows)


def test_variants_that_one_run_has_no_answers_of_leave_both() -> None:
    columns = random_answers(1, n=10, q=30, awkward=False)
    without = kept(columns, (columns[SIDE] == 0) | (columns[VARIANT] < 125))
    rows = compared(without)
    neither = compared(kept(columns, columns[VARIANT] < 125))
    assert rows["sensitivity"].n_variants == 25
    assert_same(rows, neither)


@pytest.mark.parametrize(("n_shared", "reason"), [(9, "other variants: fewer than 10 a side"), (10, None)])
def test_other_wordings_need_ten_a_side(n_shared: int, reason: str | None) -> None:
    columns = random_answers(1, n=8, q=n_shared, redrawn=True, awkward=False)
    rows = compared(columns)
    assert rows["label_churn"].reason == "other variants"
    # the original is the same wording in both runs
    assert rows["pss_intra"].reason is None
    for name in ("sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_inter"):
        assert rows[name].reason == reason
        assert rows[name].n_variants == n_shared
        assert not np.isnan(rows[name].difference)
        assert np.isnan(rows[name].p_value) == (reason is not None)


def test_another_original_has_no_noise_of_its_own_to_compare() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.integers(0, 2, (2, 6, 11, 2))
    rows = compared(columns_of(base, candidate, [*RIGHT, A, B], first_codes=(0, 20)), n_labels=2)
    assert rows["pss_intra"].reason == "other variants"
    assert rows["sensitivity"].reason is None


def test_what_one_run_lacks_is_named() -> None:
    columns = columns_of(np.zeros((4, 3, 2), int), np.zeros((4, 3, 2), int), RIGHT)
    columns[GOLD][columns[SIDE] == 1] = -1
    rows = compared(columns, n_labels=2)
    assert rows["micro_f1"].reason == rows["consistency"].reason == "candidate has no gold labels"
    one = kept(columns, (columns[SIDE] == 1) | (columns[VARIANT] == 0))
    assert compared(one, n_labels=2)["sensitivity"].reason == "base has one wording"
    once = kept(columns, (columns[SIDE] == 1) | (columns[REPETITION] == 1))
    assert compared(once, n_labels=2)["pss_intra"].reason == "base asks the original once"
    none = kept(columns, columns[SIDE] == 1)
    assert {row.reason for row in compared(none, n_labels=2).values()} == {"base has no answers"} | {
        "base has one wording",
        "base asks the original once",
    }


def test_runs_without_a_common_sample() -> None:
    columns = random_answers(1, n=8, q=4, awkward=False)
    columns[SAMPLE] = columns[SAMPLE] + 1000 * columns[SIDE]
    assert {row.reason for row in compared(columns).values()} == {"other samples"}


def test_without_gold_labels_or_other_wordings_there_is_no_row() -> None:
    columns = columns_of(BASE[:, :1], CANDIDATE[:, :1], [-1] * 4)
    assert list(compared(columns, n_labels=2)) == ["invalid_rate", "label_churn"]


@pytest.mark.parametrize(("n_labels", "level"), [(2, "ratio"), (0, "nominal")])
def test_what_is_no_task_is_refused(n_labels: int, level: Level) -> None:
    with pytest.raises(ValueError, match=r"level must be|n_classes must be"):
        compared(columns_of(BASE, CANDIDATE, RIGHT), n_labels=n_labels, level=level)


def test_detectable_difference_by_hand() -> None:
    many = 1e6  # where t is normal: .9 lies below 1.281552
    assert detectable_difference(0.01, many, 1, 0) == pytest.approx((1.959964 + 1.281552) * 0.01, abs=1e-6)
    # 1 - .025/50 = .9995 lies at 3.290527, 1 - .05/50 = .999 at 3.090232
    assert detectable_difference(0.01, many, 50, 0) == pytest.approx((3.290527 + 1.281552) * 0.01, abs=1e-6)
    assert detectable_difference(0.01, many, 50, 0, tail=0.05) == pytest.approx((3.090232 + 1.281552) * 0.01, abs=1e-6)
    # beyond the smallest effect that counts
    assert detectable_difference(0.01, many, 1, 0.02) == pytest.approx(0.02 + 0.01281552, abs=1e-7)
    assert detectable_difference(0, 4, 1, 0.02) == 0.02
    assert np.isnan(detectable_difference(np.nan, 4, 1, 0.02))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        detectable_difference(0.01, 4, 0, 0.02)


def test_a_detectable_difference_is_found_nine_times_in_ten_by_a_t_test_of_few_degrees_of_freedom() -> None:
    rng, degrees_of_freedom, n_comparisons = np.random.default_rng(1), 2, 8
    effect = detectable_difference(1.0, degrees_of_freedom, n_comparisons, 0)
    mean = effect + rng.standard_normal(20_000)
    error = np.sqrt(rng.chisquare(degrees_of_freedom, 20_000) / degrees_of_freedom)
    # t_2 at 1 - .025/8 = .996875: t = (2p - 1) / sqrt(2 p (1 - p)) = 12.590
    assert np.mean(mean / error > 12.590) == pytest.approx(0.9, abs=0.01)
