"""Computes sensitivity and consistency for fewer wordings: over all subsets of the wordings, or over drawn ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.rarefaction import rarefied_sensitivity
from promptaudit.udfs.measures.wording_shares import WordingShares
from promptaudit.udfs.resampling import generator
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats, IntegersOrMinusOne, Labels

MOST_NUMBERS = 12
"""At most so many numbers of wordings become rows."""

N_SUBSETS = 20
"""Consistency is averaged over so many subsets of the wordings, or over all where there are no more."""

_PURPOSE = 20


@dataclass(frozen=True)
class ByWordings:
    """The measures at one number of wordings; NaN where undefined."""

    n_wordings: int
    sensitivity: float
    is_sensitivity_exact: bool
    consistency: float
    consistency_subset_std: float
    n_subsets: int
    n_samples: int


def numbers_of_wordings(n_wordings: int) -> list[int]:
    """Chooses up to MOST_NUMBERS numbers from 2 to Q, both ends among them; where not all fit, the steps grow."""
    if n_wordings <= MOST_NUMBERS + 1:
        return list(range(2, n_wordings + 1))
    return sorted({round(k) for k in np.geomspace(2, n_wordings, MOST_NUMBERS)})


@sql_function()
def measures_by_wordings(
    gold: IntegersOrMinusOne,
    sample: Codes,
    variant: Codes,
    label: Labels,
    p: Floats,
    n_classes: int,
    seed: int,
) -> list[ByWordings]:
    """Computes mean sensitivity and consistency over k wordings, for each k of `numbers_of_wordings`.

    Args:
        gold: shape (n,), code of the sample's gold class; below 0 for a sample without one.
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes of the Q wordings.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0; a (sample, variant, label) stands at most
            once, and the shares of a (sample, variant) sum to 1.
        n_classes: C.
        seed: of the subsets and orders.

    Returns:
        `sensitivity`: mean over samples of its expectation over all subsets of k of the sample's wordings; a sample
        that has fewer takes all of its own, one with fewer than two is left out, so that k = Q gives the mean of the
        whole.
        `is_sensitivity_exact` is false where some cell's subsets were drawn. `consistency`: mean over
        `n_subsets` subsets of k of the Q wordings, the same for all samples, pooled over classes as in `consistency`;
        `consistency_subset_std` its standard deviation over them, ddof 0. One subset, and a deviation of 0, for k = Q.
        Empty for Q < 2.

    Source:
        Errica et al. 2025 for both measures; rarefaction of Hurlbert 1971 for the expectation.
    """
    n_wordings = int(variant.max()) + 1 if len(variant) else 0
    numbers = numbers_of_wordings(n_wordings)
    if not numbers:
        return []
    rarefied = rarefied_sensitivity(sample, variant, label, p, n_classes, numbers, seed)
    shares = WordingShares.of(gold, sample, variant, label, p)
    rows = []
    for number, sensitivity in zip(numbers, rarefied.sensitivity.tolist(), strict=True):
        chosen = subsets(n_wordings, number, seed)
        is_in = np.zeros((len(chosen), n_wordings))
        np.put_along_axis(is_in, chosen, 1.0, axis=1)
        figures = shares.consistencies(is_in)
        rows.append(
            ByWordings(
                n_wordings=number,
                sensitivity=sensitivity,
                is_sensitivity_exact=rarefied.is_exact or number == n_wordings,
                consistency=float(figures.mean()),
                consistency_subset_std=float(figures.std()),
                n_subsets=len(figures),
                n_samples=rarefied.n_samples,
            )
        )
    return rows


def subsets(n_wordings: int, number: int, seed: int) -> NDArray[np.int64]:
    """Lists subsets of `number` of the wordings, shape (n_subsets, number): all where they are few, else seeded draws.

    Drawn ones are the beginnings of orders that are the same for every number, so that a curve over numbers is smooth.
    """
    if math.comb(n_wordings, number) <= N_SUBSETS:
        return np.array(list(itertools.combinations(range(n_wordings), number)), np.int64)
    places = np.tile(np.arange(n_wordings), (N_SUBSETS, 1))
    return generator(seed, _PURPOSE).permuted(places, axis=1)[:, :number]
