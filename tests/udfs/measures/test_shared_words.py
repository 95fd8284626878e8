"""Words that a few samples share: z by hand, a planted word found, chance in one of twenty."""

from __future__ import annotations

import math

import numpy as np
import pytest

from promptaudit.udfs.measures.shared_words import Contrast, shared_words


def test_z_by_hand() -> None:
    # words a, b; members 0 to 2 of six samples have a, all six have b; prior: as many words as ten samples have
    has = np.array([[True, True]] * 3 + [[False, True]] * 3)
    ((first, *_),) = shared_words([Contrast(0, has, np.arange(3))], np.array([3.0, 6.0]), 1.5, seed=1)
    prior = 15 * np.array([3, 6]) / 9
    a, b = 3 + prior[0], 0 + prior[0]
    z = (math.log(a / (6 + 15 - a)) - math.log(b / (3 + 15 - b))) / math.sqrt(1 / a + 1 / b)
    assert (first.word, first.n_members, first.n_others) == (0, 3, 0)
    assert first.z == pytest.approx(z)
    # of the 20 choices of three two have a z as large: the observed one, and the other three, of whose words b is the only
    assert first.p_value == pytest.approx(2 / 20, abs=0.03)


def _texts(rng: np.random.Generator, n: int, n_words: int = 150) -> np.ndarray:
    return rng.random((n, n_words)) < 0.6 / np.arange(1, n_words + 1) ** 0.7


def test_a_planted_word_is_first() -> None:
    rng = np.random.default_rng(1)
    has = _texts(rng, 40)
    has[:, 60] = False
    has[:8, 60] = True
    (found,) = shared_words([Contrast(0, has, np.arange(8))], has.sum(axis=0) + 1.0, 8.0, seed=1)
    assert found[0].word == 60
    assert found[0].p_value <= 0.001


@pytest.mark.slow
def test_chance_passes_one_of_twenty() -> None:
    rng = np.random.default_rng(2)
    passed = 0
    for seed in range(200):
        has = _texts(rng, 30)
        contrasts = [
            Contrast(0, has, np.arange(6)),
            Contrast(0, has, np.arange(6, 12)),
            Contrast(1, _texts(rng, 20), np.arange(5)),
        ]
        found = shared_words(contrasts, has.sum(axis=0) + 1.0, 8.0, seed=seed, n_permutations=199)
        passed += any(words and words[0].p_value <= 0.05 for words in found)
    assert 2 <= passed <= 20


def test_nothing_to_look_at() -> None:
    assert shared_words([], np.array([]), 0.0, seed=1) == []
    has = np.zeros((6, 0), np.bool_)
    assert shared_words([Contrast(0, has, np.arange(3))], np.array([]), 0.0, seed=1) == [[]]
