"""Measures the accuracy of a majority vote over the wordings, and its gain over the original wording."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.difference import between_samples
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, SmallIntegers
from promptaudit.udfs.two_way import two_way_interval

FEWEST_VOTERS = 3
NO_ANSWER = -1


class MajorityVote(NamedTuple):
    """The accuracy of the vote and its gain over the original, each with a 95 % interval; NaN where unknown."""

    accuracy: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    n_samples: int
    n_wordings: int


_NONE = MajorityVote(*(np.nan,) * 6, 0, 0)


@sql_function()
def majority_vote(
    sample: Codes,
    cluster: Codes,
    variant: Codes,
    label: SmallIntegers,
    is_right: SmallIntegers,
    is_original: SmallIntegers,
) -> MajorityVote:
    """Computes how often the label that most wordings give is right, and how much more often than the original's.

    A wording has one vote a sample, its first answer. An answer that could not be read is no vote; where no wording has
    one the sample is wrong. Of labels with equally many votes each counts as drawn by chance.

    Args:
        sample: shape (n,), dense codes; samples that the original has no answer to are left out.
        cluster: shape (n,), dense codes of clusters of samples; a sample without a cluster has its own code.
        variant: shape (n,), dense codes of the wordings.
        label: shape (n,), the label that the wording gave, -1 where none could be read; one row per (sample, variant).
        is_right: shape (n,), 1 where that label is right and 0 elsewhere.
        is_original: shape (n,), 1 where the wording is the original and 0 elsewhere.

    Returns:
        `accuracy` in [0, 1], with `low` and `high` of `two_way_interval`, as if no sample had a cluster; `gain` in [-1,
        1], with the ends of `between_samples`: both for other samples under these wordings. All NaN with fewer than 3
        wordings, without an original; the gain's interval also where samples or clusters are too few.

    Example:
        Three wordings, of which the first, the original, is wrong on every second of 40 samples and no other one is:

        >>> samples, variants = np.repeat(np.arange(40), 3), np.tile([0, 1, 2], 40)
        >>> labels = np.where((variants == 0) & (samples % 2 == 1), 1, 0)
        >>> found = majority_vote(samples, samples, variants, labels, labels == 0, variants == 0)
        >>> found.accuracy, found.gain
        (1.0, 0.5)
    """
    is_asked = np.zeros(int(sample.max()) + 1 if len(sample) else 0, np.bool_)
    is_asked[sample[is_original > 0]] = True
    known = is_asked[sample]
    n_wordings = len(np.unique(variant[known]))
    if n_wordings < FEWEST_VOTERS:
        return _NONE
    sample, place = np.unique(sample[known], return_inverse=True)
    label, were_right = label[known], is_right[known] > 0
    right = _chance_right(place, label, were_right, len(sample))
    own = is_original[known] > 0  # once at each paraphrase temperature
    of_original = np.bincount(place, own & were_right, len(sample)) / np.bincount(place, own, len(sample))
    unit = np.zeros(len(sample), np.int64)
    unit[place] = cluster[known]
    clusters = unit if len(np.unique(unit)) < len(unit) else None
    accuracy = two_way_interval(np.arange(len(sample)), np.zeros(len(sample), np.int64), right)
    found = between_samples(right - of_original, 1, clusters)
    gain = float((right - of_original).mean())
    half = np.nan if found is None else found.half_width
    ends = max(-1.0, gain - half), min(1.0, gain + half)
    return MajorityVote(accuracy.mean, accuracy.low, accuracy.high, gain, *ends, len(sample), n_wordings)


def _chance_right(
    place: NDArray[np.int64], label: NDArray[np.int32], is_right: NDArray[np.bool_], n_samples: int
) -> NDArray[np.float64]:
    is_vote = label != NO_ANSWER
    votes = np.zeros((n_samples, int(label.max(initial=0)) + 1), np.int64)
    np.add.at(votes, (place[is_vote], label[is_vote]), 1)
    right = np.zeros(votes.shape, np.bool_)
    right[place[is_right & is_vote], label[is_right & is_vote]] = True
    most = votes.max(axis=1, keepdims=True)
    wins = (votes == most) & (most > 0)
    return np.asarray((wins & right).sum(axis=1) / np.maximum(wins.sum(axis=1), 1), np.float64)
