"""Families of wordings: what is nearly the same sentence, and intervals that take a family as one wording."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.measures.consistency_rate import consistency_rate
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.measures.wording_families import shares_of_families, wording_families
from promptaudit.udfs.two_way import two_way_interval

TEXT = "You have to guess whether the author of the following message is a Republican or a Democrat before the election"


def test_one_word_of_twenty_is_the_same_sentence() -> None:
    texts = [
        TEXT,
        TEXT.replace("guess", "estimate"),  # 2 of 20 pairs of neighbours are other ones: alike by .9
        TEXT.upper() + "!",
        TEXT.replace("guess", "estimate").replace("election", "vote"),
        "Classify the question by the type of its answer.",
        "Categorize the question by the type of its answer.",
        None,
        "?!",
        None,
    ]
    assert wording_families(texts).tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6]
    assert wording_families([texts[0], texts[3]]).tolist() == [0, 1]


def test_any_two_of_a_family_are_alike() -> None:
    """A chain of wordings, each a word away from the last: its ends are not alike and are not of one family."""
    words = TEXT.split()
    chain = [" ".join([*(f"w{k}" for k in range(n)), *words[n:]]) for n in range(6)]
    families = wording_families(chain)
    assert families[0] != families[-1]
    assert families.max() < 5


def test_a_wording_goes_with_its_nearer_neighbour_in_whatever_order() -> None:
    words = [f"w{k}" for k in range(40)]
    first, middle = words.copy(), words.copy()
    first[3] = first[20] = "other"  # 4 of 41 pairs of neighbours are others: alike by .90
    near = middle.copy()
    near[-1] = "last"  # 2 of 41: alike by .95, and by .85 with the first
    texts = [" ".join(own) for own in (first, middle, near)]
    assert wording_families(texts).tolist() == [0, 1, 1]
    assert wording_families(texts[::-1]).tolist() == [0, 0, 1]


def test_order_changes_nothing_and_repeated_words_count() -> None:
    texts = [TEXT, "a a a a", "a a", "b", TEXT + " now", "a a a a"]
    families = wording_families(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = wording_families([texts[k] for k in order])
    is_together = families[:, None] == families
    np.testing.assert_array_equal(shuffled[:, None] == shuffled, is_together[order][:, order])
    assert is_together.sum() == 10  # each with itself, and two pairs
    assert wording_families([]).tolist() == []


def test_shares_are_means_over_the_wordings_of_a_family() -> None:
    # wordings 0 and 1 are family 0; sample 1 was asked under 1 and 2 alone
    sample, variant, label = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 1, 2, 1, 2]), np.array([0, 0, 1, 1, 0, 0])
    p = np.array([1, 0.5, 0.5, 1, 1, 1])
    got = shares_of_families(sample, variant, np.array([0, 0, 0, 1, 0, 1]), label, p)
    rows = sorted(zip(*(column.tolist() for column in got), strict=True))
    assert rows == [(0, 0, 0, 0.75), (0, 0, 1, 0.25), (0, 1, 1, 1.0), (1, 0, 0, 1.0), (1, 1, 0, 1.0)]
    own = shares_of_families(sample, variant, variant, label, p)
    assert sorted(zip(*(c.tolist() for c in own), strict=True)) == sorted(
        zip(*(c.tolist() for c in (sample, variant, label, p)), strict=True)
    )


FAMILIES = [np.repeat(np.arange(6), 5), np.append(np.zeros(15, np.int64), np.arange(1, 16))]


def answers(rng: np.random.Generator, n: int, family: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities (n, Q, 3) in which wordings of a family share their effects."""
    own = 1.5 * rng.standard_normal((n, 1, 3)) + rng.standard_normal((1, family.max() + 1, 3))[:, family]
    weight = np.exp(own + 0.5 * rng.standard_normal((n, family.max() + 1, 3))[:, family])
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


@pytest.mark.parametrize("family", FAMILIES, ids=["6 of 5", "15 and 15 alone"])
def test_intervals_hold_with_near_duplicates(family: NDArray[np.int64]) -> None:
    """60 audits of 100 samples x 30 wordings: by wordings the true micro-F1 is missed far more often than one in twenty."""
    rng = np.random.default_rng(8)
    many = [answers(rng, 100, np.arange(300)).mean(axis=1) for _ in range(20)]
    true_f1 = np.mean([p[:, 0].mean() for p in many])
    n = 100
    sample, variant = np.divmod(np.arange(n * 30), 30)
    covered, nights = np.zeros(2, np.int64), []
    for _ in range(60):
        cumulative = answers(rng, n, family).cumsum(axis=2)
        label = np.minimum((rng.random((n, 30, 1)) > cumulative).sum(axis=2), 2).ravel()
        value, ones = (label == 0).astype(np.float64), np.ones(len(label))
        by_wording = sensitivity_interval(sample, variant, None, label, ones, 3)
        by_family = sensitivity_interval(sample, variant, family[variant], label, ones, 3)
        nights.append((by_wording, by_family))
        covered += [
            interval.low <= true_f1 <= interval.high
            for interval in (
                two_way_interval(sample, variant, value),
                two_way_interval(sample, variant, value, family[variant]),
            )
        ]
    expected = np.mean([by_wording.mean for by_wording, _ in nights])  # of as many wordings in as many families
    held = np.array([[each.low <= expected <= each.high for each in night] for night in nights]).sum(axis=0)
    assert held[1] >= max(54, held[0])
    assert covered[0] <= 51
    assert covered[1] >= 54


def test_the_rate_stays_and_its_bounds_are_of_families() -> None:
    rng = np.random.default_rng(3)
    family = FAMILIES[0]
    label = answers(rng, 40, family).argmax(axis=2).ravel()
    sample, variant = np.divmod(np.arange(40 * 30), 30)
    alone = consistency_rate(sample, variant, variant, label, np.ones(len(label)))
    by_family = consistency_rate(sample, variant, family[variant], label, np.ones(len(label)))
    assert by_family.rate == alone.rate
    assert by_family.high - by_family.low > 1.2 * (alone.high - alone.low)
    assert by_family.low < alone.rate < by_family.high
