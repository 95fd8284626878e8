"""Families of wordings that no text shows, by hand and in worlds of one night."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.measures.answer_families import AnswerFamilies, answer_families
from tests.udfs.one_night_worlds import WORLDS, OneNight, counted, golds, joined_night


def families(labels: np.ndarray, by_text: np.ndarray | None = None) -> AnswerFamilies:
    """Of samples x wordings, one ask each."""
    sample, wording = np.indices(labels.shape).reshape(2, -1)
    text = np.arange(labels.shape[1]) if by_text is None else by_text
    return answer_families(sample, wording, text[wording], labels.ravel(), np.ones(labels.size))


# of six wordings two say 1 to every third sample, two to the next and two to the one after
IN_PAIRS = (np.arange(60)[:, None] % 3 == np.repeat(np.arange(3), 2)).astype(np.int64)


def test_wordings_that_answer_alike_are_one_family() -> None:
    found = families(IN_PAIRS)
    assert found.variant.tolist() == list(range(6))
    assert found.family.tolist() == [0, 0, 2, 2, 4, 4]
    assert found.n_effective == pytest.approx(3)


def test_families_by_text_stay_whole() -> None:
    # the first and the fourth have one text and nothing else in common: half of each pair's correlation is left to join the rest
    found = families(IN_PAIRS, np.array([7, 1, 2, 7, 4, 5]))
    assert found.family[0] == found.family[3] == 7
    alike = families(IN_PAIRS, np.array([3, 3, 4, 5, 6, 7]))
    assert alike.family.tolist() == [3, 3, 4, 4, 6, 6]


def test_too_little_to_tell_leaves_the_families_of_the_texts() -> None:
    text = np.array([3, 3, 5, 6, 7, 8])
    for labels in (IN_PAIRS[:19], np.zeros((60, 6), np.int64), np.random.default_rng(1).integers(0, 3, (60, 6))):
        found = families(labels, text)
        assert found.family.tolist() == text.tolist()
        assert found.n_effective == pytest.approx(36 / 8)
    assert families(IN_PAIRS[:, :3]).family.tolist() == [0, 1, 2]
    empty = np.empty(0, np.int64)
    assert len(answer_families(empty, empty, empty, empty, np.empty(0)).family) == 0


def test_wordings_one_of_which_goes_its_own_way_are_no_family_for_that() -> None:
    """One wording that differs on all samples makes the others agree, which they would of any model."""
    rng = np.random.default_rng(3)
    labels = np.zeros((200, 8), np.int64)
    labels[:, 0] = rng.integers(1, 4, 200)
    labels[rng.random((200, 8)) < 0.05] = 2
    assert families(labels).n_effective > 7


def test_what_wordings_do_to_all_samples_alike_joins_none() -> None:
    labels = np.tile(np.array([0, 0, 0, 1, 1, 1]), (100, 1))
    assert families(labels).family.tolist() == list(range(6))


@pytest.mark.slow
def test_sensitivity_covers_where_wordings_come_in_threes() -> None:
    """Families widen the interval of what 12 wordings show, which holds its mean then; sound wordings are joined in none."""
    nights = [joined_night(seed, world=WORLDS["families"], n=300, q=12) for seed in range(30)]
    expected = np.mean([night.alone.mean for night in nights])
    held, alone = (
        sum(getattr(night, name).low <= expected <= getattr(night, name).high for night in nights)
        for name in ("joined", "alone")
    )
    assert held >= max(27, alone)
    sound = [joined_night(seed, world=OneNight(), n=100, q=12) for seed in range(15)]
    assert sum(night.n_families < 12 for night in sound) <= 2


def test_repetitions_do_not_hide_a_family() -> None:
    rng = np.random.default_rng(5)
    counts = counted(
        rng, WORLDS["families"].probabilities(rng, golds("even", 200), WORLDS["families"].wordings(rng, 9))
    )
    sample, wording, label = np.nonzero(counts)
    found = answer_families(sample, wording, wording, label, counts[sample, wording, label].astype(float))
    assert found.n_effective == pytest.approx(3, abs=0.7)


def test_wordings_one_of_which_breaks_are_as_many_units() -> None:
    """Nine of ten wordings agree and one gives no label: next to it they would all go together."""
    labels = np.tile(np.arange(40)[:, None] % 2, 10)
    labels[:, 3] = 2
    assert families(labels).n_effective == pytest.approx(10)
    rng = np.random.default_rng(4)
    labels[(rng.random((40, 10)) < 0.05) & (np.arange(10) != 3)] = 0
    assert families(labels).n_effective == pytest.approx(10)


# broken ones say what no sample has, or one of two classes to all samples, which is right for half of them
@pytest.mark.parametrize(("n_classes", "said", "n_broken"), [(3, 3, 3), (3, 3, 6), (3, 3, 8), (2, 0, 3), (2, 0, 6)])
def test_wordings_that_all_break_are_no_family_for_that(n_classes: int, said: int, n_broken: int) -> None:
    labels = np.tile(np.arange(60)[:, None] % n_classes, 12)
    labels[:, :n_broken] = said
    assert families(labels).n_effective == pytest.approx(12)
