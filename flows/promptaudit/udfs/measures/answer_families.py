"""Finds families of wordings whose answers correlate beyond what samples and wordings explain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.resampling import n_effective
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, Integers, Labels

TOGETHER = 0.5
"""Two wordings are of one family from this correlation up; between groups of wordings it is the mean over pairs."""

FAR_BELOW = 2 / 3
"""Families become the units of intervals over wordings if their effective number is at most this part of Q."""

_WORKING = 0.5  # of the median wording
_NO_VARIANCE = 1e-12  # below it a variance is rounding
_COUNTS_FROM = 3.0  # standard errors from 0 at which a covariance counts
_FEWEST = 4  # wordings
_FEWEST_SAMPLES = 20
_CELLS = 2_000_000  # of the table of one chunk of samples, 16 MB


class AnswerFamilies(NamedTuple):
    """The family of each wording, coded as its first wording's family by text, and the effective number of wordings.

    `n_effective` is 1 / (sum of squares of the families' parts), whether or not the families become the units: as many
    unlike wordings would give as much information.
    """

    variant: NDArray[np.int64]
    family: NDArray[np.int64]
    n_effective: float


@sql_function(own_codes={"variant": "variant"})
def answer_families(
    sample: Codes,
    variant: Codes,
    family: Integers,
    label: Labels,
    n_answers: Floats,
) -> AnswerFamilies:
    """Finds the families of wordings by their texts, and joins them further where answers show fewer.

    r_ivc is the share of a label minus its mean over wordings (what samples explain) and minus its mean over samples
    (what wordings do to all samples alike). The covariance of two wordings is the mean over samples of sum_c r_ivc
    r_iwc. To it is added the amount by which subtracting the mean over wordings makes it too small; from the variances,
    the noise of repetitions is subtracted. A correlation counts where its covariance is at least three standard errors
    over samples from 0. Families join by average linkage from TOGETHER up, and are the units where their effective
    number is at most FAR_BELOW of the number of wordings. A wording breaks where it gives a sample's commonest answer
    less than half as often as the median wording, or where its answers vary over samples less than half as much, as 1 -
    sum_c (mean share)^2. It joins no family, and the others are compared without it, since next to it they would all
    seem alike.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the wordings.
        family: shape (n,), codes of the wording's family by its text, one for each wording.
        label: shape (n,), dense codes, N/A being one of them.
        n_answers: shape (n,), how often the wording gave the sample the label, above 0.

    Returns:
        A family for each wording, shape (Q,). The families by text stay where there are fewer than four, where fewer
        than 20 samples were asked under all wordings and are disagreed on, and where answers join no more of them.

    In worlds whose wordings come in threes the interval of sensitivity covers .98 and .95 at 300 x 12 and 100 x 12 with
    these families, and .82 and .90 without. Where one to five of ten wordings break, sound ones are joined in none of
    60 runs.

    Source:
        Kish 1965 for the effective number; Sokal and Michener 1958 for average linkage.
    """
    q = int(variant.max()) + 1 if len(variant) else 0
    by_text = np.zeros(q, np.int64)
    by_text[variant] = family
    wordings = np.arange(q)
    families_by_text = AnswerFamilies(wordings, by_text, n_effective(dense_codes(by_text)[0]) if q else np.nan)
    if q < _FEWEST or len(np.unique(by_text)) < _FEWEST:
        return families_by_text
    is_working = _are_working(sample, variant, label, n_answers, q)
    if is_working.sum() < _FEWEST:
        return families_by_text
    kept = is_working[variant]
    of_sample, of_wording, of_label = (dense_codes(codes[kept])[0] for codes in (sample, variant, label))
    found = _correlations(of_sample, of_wording, of_label, n_answers[kept], int(is_working.sum()))
    if found is None:
        return families_by_text
    correlation = np.zeros((q, q))
    correlation[np.ix_(is_working, is_working)] = found
    # families by text stay whole
    unit = dense_codes(by_text)[0]
    is_in = np.eye(int(unit.max()) + 1)[unit] / np.bincount(unit)[unit][:, None]
    of_units = is_in.T @ correlation @ is_in
    np.fill_diagonal(of_units, 1.0)
    clusters = fcluster(linkage(squareform(1 - of_units, checks=False), "average"), 1 - TOGETHER, "distance")[unit]
    _, first, code = np.unique(clusters, return_index=True, return_inverse=True)
    effective = n_effective(code)
    if effective >= families_by_text.n_effective:
        return families_by_text
    return AnswerFamilies(wordings, by_text[first[code]] if effective <= FAR_BELOW * q else by_text, effective)


def _are_working(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    n_answers: NDArray[np.float64],
    q: int,
) -> NDArray[np.bool_]:
    n_labels = int(label.max()) + 1
    asked, keys = dense_codes(sample * q + variant)
    share = n_answers / np.bincount(asked, weights=n_answers)[asked]
    cell, cells = dense_codes(sample * n_labels + label)
    total = np.bincount(cell, weights=share)
    of_sample = cells // n_labels
    order = np.lexsort((-total, of_sample))
    commonest = order[np.searchsorted(of_sample, np.arange(int(sample.max()) + 1))]
    n_asked = np.bincount(keys % q, minlength=q)
    agreement = np.bincount(variant, weights=share * (cell == commonest[sample]), minlength=q) / n_asked
    means = (
        np.bincount(variant * n_labels + label, weights=share, minlength=q * n_labels).reshape(q, -1) / n_asked[:, None]
    )
    variation = 1 - np.square(means).sum(axis=1)
    # what is equal but for rounding is equal
    is_near, is_varied = (each >= _WORKING * np.median(each) - _NO_VARIANCE for each in (agreement, variation))
    return np.asarray(is_near & is_varied, np.bool_)


def _correlations(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    n_answers: NDArray[np.float64],
    q: int,
) -> NDArray[np.float64] | None:
    # in [0, 1], and 0 where the covariance does not count; None with too few samples in common
    n, n_labels = int(sample.max()) + 1, int(label.max()) + 1
    n_asks = np.zeros((n, q))
    np.add.at(n_asks, (sample, variant), n_answers)
    is_whole = np.asarray((n_asks > 0).all(axis=1), np.bool_)
    n_alike = np.zeros((n, n_labels))
    np.add.at(n_alike, (sample, label), n_answers)
    if (is_whole & (n_alike.max(axis=1) < n_asks.sum(axis=1))).sum() < _FEWEST_SAMPLES:
        return None
    place = np.cumsum(is_whole) - 1
    kept = is_whole[sample]
    at, wording, answer = place[sample[kept]], variant[kept], label[kept]
    asks = n_asks[is_whole]
    share = n_answers[kept] / asks[at, wording]
    mean = np.zeros((q, n_labels))
    np.add.at(mean, (wording, answer), share)
    mean /= len(asks)
    mean -= mean.mean(axis=0)
    order = np.argsort(at, kind="stable")
    at, wording, answer, share = (each[order] for each in (at, wording, answer, share))
    sums, squares, agreeing = np.zeros((q, q)), np.zeros((q, q)), np.zeros((len(asks), q))
    np.add.at(agreeing, (at, wording), share**2)
    step = max(1, _CELLS // (q * max(q, n_labels)))
    for start in range(0, len(asks), step):
        stop = min(start + step, len(asks))
        own = slice(*np.searchsorted(at, [start, stop]).tolist())
        shares = np.zeros((stop - start, q, n_labels))
        shares[at[own] - start, wording[own], answer[own]] = share[own]
        left = shares - shares.mean(axis=1, keepdims=True) - mean
        products = left @ left.transpose(0, 2, 1)
        sums += products.sum(axis=0)
        squares += np.square(products).sum(axis=0)
    covariance = sums / len(asks)
    error = np.sqrt(np.maximum(squares / len(asks) - covariance**2, 0) / len(asks))
    # of independent wordings of variances s_v the centred covariances are -s_v/Q - s_w/Q + sum(s)/Q^2
    of_all = np.trace(covariance) / (q * (q - 1))
    variance = (np.diag(covariance) - of_all) / (1 - 2 / q)
    covariance = covariance + np.add.outer(variance, variance) / q - of_all
    is_repeated = np.asarray(asks > 1, np.bool_)
    noise = np.where(is_repeated, (1 - agreeing) / np.where(is_repeated, asks - 1, 1), 0.0).sum(axis=0)
    scale = np.sqrt(np.maximum(variance - noise / np.maximum(is_repeated.sum(axis=0), 1), 0))
    bound = np.outer(scale, scale)
    does_count = (covariance > _COUNTS_FROM * error) & (bound > _NO_VARIANCE)
    return np.where(does_count, np.minimum(covariance / np.where(does_count, bound, 1), 1.0), 0.0)
