"""Finds words that are in the texts of a few samples and not in the rest of their class, beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.resampling import generator

PERMUTATIONS = 1999
FEWEST = 3
PRIOR_SAMPLES = 10.0
_PURPOSE = 12


class Contrast(NamedTuple):
    """Some samples of a class, to compare with the others of the class.

    Attributes:
        stratum: the class; contrasts of one class are exchanged together.
        has: shape (n, W), whether the text of each sample of the class has each word.
        members: indices into the n samples.
    """

    stratum: int
    has: NDArray[np.bool_]
    members: NDArray[np.int64]


class SharedWord(NamedTuple):
    """A word of a contrast: its z, its p-value among all words of all contrasts, and how many samples have it."""

    word: int
    z: float
    p_value: float
    n_members: int
    n_others: int


def shared_words(
    contrasts: Sequence[Contrast],
    frequency: NDArray[np.float64],
    words_a_sample: float,
    seed: int,
    n_permutations: int = PERMUTATIONS,
) -> list[list[SharedWord]]:
    """Finds the words that set each contrast's samples apart, the most distinctive first.

    A word's z is its log-odds ratio with an informative Dirichlet prior, over its standard deviation; a word counts
    once for each sample, and the prior is made of the words of the whole task, as many as PRIOR_SAMPLES samples have.
    The p-value is the share of random exchanges of the class's texts, the observed one among them, in which the largest
    z of any word in any of the contrasts is as large: by chance, some word is below .05 in one of twenty sets of
    contrasts, however many words there are.

    Args:
        contrasts: any number; all `has` have the same W words.
        frequency: shape (W,), samples of the task that have each word, above 0.
        words_a_sample: mean number of different words of a sample of the task.
        seed: of the exchanges.
        n_permutations: B; the smallest p-value is 1 / (B + 1).

    Returns:
        For each contrast the words that at least FEWEST of its samples have and that have z > 0; empty where none has.

    Source:
        Monroe, Colaresi & Quinn 2008, Fightin' Words, equations 15, 20 and 22.
    """
    prior = frequency / frequency.sum() * PRIOR_SAMPLES * words_a_sample if len(frequency) else frequency
    largest = np.full(n_permutations, -np.inf)
    observed = []
    for contrast in contrasts:
        has = contrast.has.astype(np.float64)
        own = np.zeros((1, len(has)))
        own[0, contrast.members] = 1
        observed.append(_z(own, has, prior)[0])
        rng = generator(seed, _PURPOSE + 1000 * contrast.stratum)
        places = rng.permuted(np.tile(np.arange(len(has)), (n_permutations, 1)), axis=1)
        largest = np.maximum(largest, _z(own[0][places], has, prior).max(axis=1, initial=-np.inf))
    largest.sort()
    return [_ranked(contrast, z, largest, n_permutations) for contrast, z in zip(contrasts, observed, strict=True)]


def _z(chosen: NDArray[np.float64], has: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    # -inf where too few of the chosen samples have the word
    inside = chosen @ has
    outside = has.sum(axis=0) - inside
    n_inside, n_outside = inside.sum(axis=1, keepdims=True), outside.sum(axis=1, keepdims=True)
    total = prior.sum()
    a, b = inside + prior, outside + prior
    odds = np.log(a / (n_inside + total - a)) - np.log(b / (n_outside + total - b))
    return np.asarray(np.where(inside >= FEWEST, odds / np.sqrt(1 / a + 1 / b), -np.inf))


def _ranked(
    contrast: Contrast, z: NDArray[np.float64], largest: NDArray[np.float64], n_permutations: int
) -> list[SharedWord]:
    n_as_large = n_permutations - np.searchsorted(largest, z - 1e-9)
    is_member = np.zeros(len(contrast.has), np.bool_)
    is_member[contrast.members] = True
    n_members, n_others = contrast.has[is_member].sum(axis=0), contrast.has[~is_member].sum(axis=0)
    order = np.lexsort((np.arange(len(z)), -z))
    return [
        SharedWord(
            int(k), float(z[k]), (1 + int(n_as_large[k])) / (n_permutations + 1), int(n_members[k]), int(n_others[k])
        )
        for k in order
        if z[k] > 0
    ]
