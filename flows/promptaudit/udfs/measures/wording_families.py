"""Finds families of wordings: texts so alike that together they carry little more information than one of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_matrix
from scipy.spatial.distance import squareform

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.entropy import ROUNDING
from promptaudit.udfs.sql_function import sql_function

ALIKE = 0.9
"""Two wordings are of one family from this similarity up."""

_WORD = re.compile(r"\w+")


@sql_function()
def wording_families(texts: Sequence[str | None]) -> NDArray[np.int64]:
    """Assigns each wording to a family, numbered from 0 in the order of their first wordings.

    The similarity of two texts is 2 M / T: M pairs of neighbouring words in common, of T in both together, where the
    beginning and the end of a text count as words, and case and punctuation are ignored (the Dice coefficient of word
    bigrams). Any two wordings of a family have a similarity of .9 (complete linkage, the nearest first): of twenty
    words they differ in one.

    Args:
        texts: of the wordings; None or a text without words is a family of its own.

    Returns:
        Shape (n,).

    Source:
        Dice 1945; Broder 1997 for near-duplicates by the sequences of words that texts have in common.

    Example:
        >>> wording_families(["Sort the mail.", "Sort the mail!", "Which team should read this?"]).tolist()
        [0, 0, 1]
    """
    shingles = [_shingles(text) for text in texts]
    lengths = np.array([len(own) for own in shingles], np.int64)
    codes = {shingle: code for code, shingle in enumerate(sorted({each for own in shingles for each in own}))}
    columns = [codes[shingle] for own in shingles for shingle in own]
    has = csr_matrix((np.ones(len(columns)), columns, np.append(0, lengths.cumsum())), (len(texts), len(codes)))
    apart = 1 - 2 * (has @ has.T).toarray() / np.maximum(np.add.outer(lengths, lengths), 1)
    np.fill_diagonal(apart, 0.0)
    limit = 1 - ALIKE + ROUNDING
    if (apart <= limit).sum() <= len(texts):
        return np.arange(len(texts))
    clusters = fcluster(linkage(squareform(apart, checks=False), "complete"), limit, "distance")
    _, first, code = np.unique(clusters, return_index=True, return_inverse=True)
    return np.asarray(first.argsort().argsort()[code], np.int64)


def shares_of_families(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    family: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Averages the share of each label over the variants of a family that a sample was asked under, in order.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        family: shape (n,), dense codes of the variant's family.
        label: shape (n,), dense codes.
        p: shape (n,), share of the variant's answers with the label.

    Returns:
        Samples, families, labels and shares, one entry for each combination that has a share.
    """
    if len(p) == 0:
        return sample, family, label, p
    n_families, n_variants, n_labels = (int(codes.max()) + 1 for codes in (family, variant, label))
    unit, units = dense_codes(sample * n_families + family)
    n_asked = np.bincount(dense_codes(unit * n_variants + variant)[1] // n_variants)
    cell, cells = dense_codes(unit * n_labels + label)
    of_unit, labels = np.divmod(cells, n_labels)
    samples, families = np.divmod(units[of_unit], n_families)
    return samples, families, labels, np.bincount(cell, weights=p) / n_asked[of_unit]


def _shingles(text: str | None) -> list[tuple[str, str, int]]:
    # pairs of neighbouring words, each with how often it occurred before
    words = _WORD.findall(text.casefold()) if text is not None else []
    seen: Counter[tuple[str, str]] = Counter()
    shingles = []
    for pair in zip(["", *words], [*words, ""], strict=True) if words else ():
        shingles.append((*pair, seen[pair]))
        seen[pair] += 1
    return shingles
