"""What samples add to the measures of two runs: by hand, against plain code, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from promptaudit.udfs.differences.accuracies import paired_accuracies
from promptaudit.udfs.differences.answers import paired_values
from promptaudit.udfs.differences.values import Values
from promptaudit.udfs.stability.krippendorff import Level
from tests.udfs.differences.plain_runs import Task, figures, random_answers, runs_of, table_of

Columns = list[NDArray]
SIDE, SAMPLE, VARIANT, _, _, REPETITION, LABEL, GOLD = range(8)
QUALITY = ["sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_intra", "pss_inter", "label_churn"]
A, B, NA = 0, 1, -1
BASE = np.array([[[A], [A]], [[A], [B]], [[B], [B]], [[B], [B]]])
CANDIDATE = np.array([[[A], [B]], [[A], [B]], [[B], [A]], [[B], [NA]]])
RIGHT = [A, A, B, B]


def paired(
    columns: Columns, *, n_labels: int = 3, level: Level = "nominal", are_drawn: bool = False
) -> dict[str, Values]:
    labels = [str(label) for label in range(n_labels)]
    return {row.measure: row for row in paired_values(*columns, labels, level, are_drawn=are_drawn)}


def columns_of(base: NDArray, candidate: NDArray, gold: list[int], *, first_codes: tuple[int, int] = (0, 0)) -> Columns:
    """From labels of samples x variants x repetitions of either run, -2 where an answer is missing; variant 0 is the original."""
    parts = []
    for side, labels in enumerate((base, candidate)):
        i, v, r = np.nonzero(labels != -2)
        own = np.full(len(i), side)
        parts.append((own, i, v + first_codes[side], own * 0 - 1, v == 0, r + 1, labels[i, v, r], np.array(gold)[i]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def kept(columns: Columns, which: NDArray[np.bool_]) -> Columns:
    return [column[which] for column in columns]


def assert_same(rows: dict[str, Values], others: dict[str, Values]) -> None:
    assert list(rows) == list(others)
    for name, row in rows.items():
        other = others[name]
        assert (other.base, other.candidate) == pytest.approx((row.base, row.candidate), nan_ok=True)
        assert other.in_base == pytest.approx(row.in_base, nan_ok=True)
        assert (other.wordings, other.n_repetitions) == (pytest.approx(row.wordings), row.n_repetitions)


def test_four_samples_by_hand() -> None:
    rows = paired(columns_of(BASE, CANDIDATE, RIGHT), n_labels=2)
    one_split = np.log(2) / np.log(3)  # entropy of one answer each way, of three classes with N/A
    sensitivity = rows["sensitivity"]
    assert (sensitivity.base, sensitivity.candidate) == pytest.approx((one_split / 4, one_split))
    assert sensitivity.in_base == pytest.approx([0, one_split, 0, 0])
    # right: variant 0 always, variant 1 in 3 of 4, then in 0 of 4 (A, A, B, B is answered B, B, A, N/A)
    micro_f1 = rows["micro_f1"]
    assert (micro_f1.base, micro_f1.candidate) == pytest.approx((7 / 8, 4 / 8))
    assert micro_f1.in_candidate == [0.5] * 4
    assert rows["invalid_rate"].in_candidate == [0, 0, 0, 0.5]
    # class A: p_tau (1, 0) and (.5, .5), distance .5, twice of four pairs; class B: none. Then all within classes equal
    consistency = rows["consistency"]
    assert (consistency.base, consistency.candidate) == pytest.approx((1 - (2 * 0.5) / 8, 1 - (2 * 0.5) / 8))
    assert consistency.reason == "a class has fewer than 5 samples"
    assert rows["label_churn"].candidate == pytest.approx(3 / 8)
    assert np.isnan(rows["label_churn"].in_base).all()  # asked once
    assert "pss_intra" not in rows


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("is_awkward", [False, True])
def test_figures_are_those_of_plain_code_and_the_means_of_what_samples_add(level: Level, is_awkward: bool) -> None:
    columns = random_answers(5, n=20, q=5, awkward=is_awkward)
    rows, table = paired(columns, level=level), table_of(columns, 4)
    for run, name in enumerate(("base", "candidate")):
        plain = figures(runs_of(table)[run], Task(table.gold, 4, np.arange(3.0), level))
        for measure, figure in plain.items():
            assert getattr(rows[measure], name) == pytest.approx(figure, abs=1e-9), measure
            assert np.mean(getattr(rows[measure], f"in_{name}")) == pytest.approx(figure, abs=1e-9), measure


def test_what_other_wordings_add_is_the_two_way_excess() -> None:
    # differences of four samples under three wordings, as rates: V_W - V_B = .0019444 - .00027778
    differences = np.array([[0.1, 0, 0.2], [0, 0, 0.1], [0.3, 0.1, 0.2], [0, -0.1, 0.1]])
    sample, variant = np.indices(differences.shape)
    side = np.repeat([0, 1], differences.size)
    accuracy = np.concatenate([np.full(differences.size, 0.5), 0.5 + differences.ravel()])
    columns = (side, np.tile(sample.ravel(), 2), np.tile(variant.ravel(), 2), accuracy)
    mean, spread = paired_accuracies(*columns, are_drawn=True)
    assert mean.wordings.excess == pytest.approx(0.0016667, abs=1e-7)
    assert mean.wordings.variance == pytest.approx(0.0019444, abs=1e-7)
    assert mean.wordings.freedom == pytest.approx(2)
    assert spread.reason == "a spread of other wordings"
    mean, spread = paired_accuracies(*columns, are_drawn=False)
    assert (mean.wordings.excess, spread.reason) == (0, None)
    # of the means .6, .5, .65: sqrt(mean square around .58333)
    assert spread.candidate == pytest.approx(np.std([0.6, 0.5, 0.65]))


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=8)
def test_exchanging_base_and_candidate_exchanges_what_samples_add(seed: int, redrawn: bool) -> None:
    columns = random_answers(seed, n=12, q=6, redrawn=redrawn)
    forth = paired(columns, are_drawn=True)
    columns[SIDE] = 1 - columns[SIDE]
    back = paired(columns, are_drawn=True)
    assert list(forth) == list(back)
    for name, row in forth.items():
        if name == "label_churn":
            continue
        assert (back[name].in_base, back[name].in_candidate) == (row.in_candidate, row.in_base)
        assert back[name].wordings == pytest.approx(row.wordings, abs=1e-12)


@given(st.integers(0, 1000))
@settings(max_examples=8)
def test_order_of_rows_and_names_of_samples_variants_and_labels_do_not_matter(seed: int) -> None:
    columns = random_answers(seed, n=12, q=4)
    rows = paired(columns, are_drawn=True)
    other = kept(columns, np.random.default_rng(seed).permutation(len(columns[0])))
    other[SAMPLE] = other[SAMPLE] * 10**9 - 5
    other[VARIANT] = other[VARIANT] * 10**9 - 5
    assert_same(paired(other, are_drawn=True), rows)
    other[LABEL] = np.array([2, 0, 1, -1])[other[LABEL]]
    other[GOLD] = np.array([2, 0, 1, -1])[other[GOLD]]
    renamed = paired(other, are_drawn=True)
    for name, row in rows.items():
        assert (renamed[name].base, renamed[name].candidate) == pytest.approx((row.base, row.candidate), nan_ok=True)


def test_answers_that_one_run_alone_has_do_not_count() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.integers(0, 2, (2, 6, 4, 3))
    candidate[:, :, 2] = candidate[2, 3] = -2
    once = paired(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2)
    base[:, :, 2] = base[2, 3] = -2
    assert_same(paired(columns_of(base, candidate, [*RIGHT, A, B]), n_labels=2), once)
    assert once["sensitivity"].n_repetitions == 2


def test_other_wordings() -> None:
    rows = paired(random_answers(1, n=12, q=9, redrawn=True, awkward=False))
    assert rows["label_churn"].reason == "other variants"
    assert rows["pss_intra"].reason is None  # the original is the same wording in both runs
    for name in ("sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_inter"):
        assert rows[name].is_redrawn
        assert rows[name].n_wordings == 9
        assert rows[name].wordings.freedom == pytest.approx(16)  # of both runs' own
    assert not paired(random_answers(1, n=12, q=9, awkward=False))["sensitivity"].is_redrawn


def test_another_original_has_no_noise_of_its_own_to_compare() -> None:
    rng = np.random.default_rng(0)
    base, candidate = rng.integers(0, 2, (2, 6, 11, 2))
    rows = paired(columns_of(base, candidate, [*RIGHT, A, B], first_codes=(0, 20)), n_labels=2)
    assert rows["pss_intra"].reason == "other variants"
    assert rows["sensitivity"].reason is None


def test_what_one_run_lacks_is_named() -> None:
    columns = columns_of(np.zeros((4, 3, 2), int), np.zeros((4, 3, 2), int), RIGHT)
    columns[GOLD][columns[SIDE] == 1] = -1
    rows = paired(columns, n_labels=2)
    assert rows["micro_f1"].reason == rows["consistency"].reason == "candidate has no gold labels"
    assert rows["pss_inter"].reason == "too few samples disagree"
    one = kept(columns, (columns[SIDE] == 1) | (columns[VARIANT] == 0))
    assert paired(one, n_labels=2)["sensitivity"].reason == "base has one wording"
    once = kept(columns, (columns[SIDE] == 1) | (columns[REPETITION] == 1))
    assert paired(once, n_labels=2)["pss_intra"].reason == "base asks the original once"
    none = kept(columns, columns[SIDE] == 1)
    assert {row.reason for row in paired(none, n_labels=2).values()} == {
        "base has no answers",
        "base has one wording",
        "base asks the original once",
    }
    columns = random_answers(1, n=8, q=4, awkward=False)
    columns[SAMPLE] = columns[SAMPLE] + 1000 * columns[SIDE]
    assert {row.reason for row in paired(columns).values()} == {"other samples"}


def test_without_gold_labels_or_other_wordings_there_is_no_row() -> None:
    columns = columns_of(BASE[:, :1], CANDIDATE[:, :1], [-1] * 4)
    assert list(paired(columns, n_labels=2)) == ["invalid_rate", "label_churn"]
    assert paired_accuracies(*(np.empty(0, np.int64),) * 3, np.empty(0), are_drawn=False) == []
