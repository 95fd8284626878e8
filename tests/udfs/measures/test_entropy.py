"""Normalised entropy against the worked examples of the definition."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.measures.entropy import expected_plug_in_entropy, normalised_entropy


def entropy_of(counts: list[float], n_classes: int) -> float:
    p = np.array(counts) / sum(counts)
    return float(normalised_entropy(p, np.array([0, len(p)]), np.array([n_classes]))[0])


def test_thirty_answers_with_invalid_ones_as_a_class() -> None:
    # 24 A, 3 B, 3 N/A: -(.8 ln .8 + 2 * .1 ln .1) / ln 3
    assert entropy_of([24, 3, 3], 3) == pytest.approx(-(0.8 * log(0.8) + 0.2 * log(0.1)) / log(3))
    assert entropy_of([24, 3, 3], 3) == pytest.approx(0.581672, abs=1e-6)
    # valid answers alone, 24 and 3 of 27 over two labels
    assert entropy_of([24, 3], 2) == pytest.approx(0.503258, abs=1e-6)


def test_an_unused_class_counts_in_the_denominator() -> None:
    assert entropy_of([20, 10, 0], 4) == pytest.approx(0.459148, abs=1e-6)
    assert entropy_of([20, 10, 0], 3) == pytest.approx(0.579380, abs=1e-6)


def test_two_labels_without_invalid_answers_stay_below_ln2_over_ln3() -> None:
    assert entropy_of([1, 1, 0], 3) == pytest.approx(log(2) / log(3))


@pytest.mark.parametrize(("p", "n_classes"), [([], 3), ([1.0], 1), ([0.5, 0.5], 0)])
def test_undefined_without_answers_or_with_one_class(p: list[float], n_classes: int) -> None:
    assert np.isnan(normalised_entropy(np.array(p), np.array([0, len(p)]), np.array([n_classes]))).all()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=9).filter(any), st.integers(0, 3))
def test_lies_between_certainty_and_evenness(counts: list[int], n_unused: int) -> None:
    n_classes = max(2, len(counts) + n_unused)
    assert 0 <= entropy_of([float(n) for n in counts], n_classes) <= 1
    assert entropy_of([1.0] * n_classes, n_classes) == pytest.approx(1)


def test_distributions_side_by_side_are_kept_apart() -> None:
    p = np.array([1.0, 0.5, 0.5])
    assert normalised_entropy(p, np.array([0, 1, 1, 3]), np.array([2, 2, 2])).tolist()[::2] == [0.0, 1.0]


def test_few_variants_lower_the_expected_entropy() -> None:
    p = np.array([0.7, 0.2, 0.05, 0.05, 0, 0])
    assert expected_plug_in_entropy(p, 30, 6) == pytest.approx(0.454926, abs=1e-6)
    assert entropy_of(p.tolist(), 6) == pytest.approx(0.486189, abs=1e-6)
    assert expected_plug_in_entropy(p, 1, 6) == 0
    # two answers differ with probability 2 * .5 * .5, and then weigh ln 2
    assert expected_plug_in_entropy(np.array([0.5, 0.5]), 2, 2) == pytest.approx(0.5)


def test_expected_entropy_refuses_what_it_is_not_defined_for() -> None:
    with pytest.raises(ValueError, match="n_variants >= 1"):
        expected_plug_in_entropy(np.array([1.0]), 0, 2)
