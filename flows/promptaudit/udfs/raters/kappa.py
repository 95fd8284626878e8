"""Measures the agreement of raters beyond chance: Cohen's kappa of two and Fleiss' kappa of several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Integers, IntegersOrMinusOne

_UNRATED = -1


class Agreement(NamedTuple):
    """The agreement of one set of raters on the items that all of them rated; NaN where undefined."""

    cohen_kappa: float
    fleiss_kappa: float
    agreement_rate: float
    perfect_agreement_rate: float
    n_rated: int


def cohen_kappa(first: NDArray[np.int64], second: NDArray[np.int64], times: NDArray[np.int64] | None = None) -> float:
    """Computes Cohen's kappa of two raters: (p_o - p_e) / (1 - p_e), p_e from each rater's shares of categories.

    Args:
        first: shape (n_items,), dense codes of the first rater's categories.
        second: shape (n_items,), the second rater's categories, in the same codes.
        times: shape (n_items,), how often each item counts; once if None.

    Returns:
        1 for perfect agreement, 0 for chance, negative below it, -1 at least. NaN without items and where both raters
        gave one and the same category throughout, when chance agrees fully too.

    Source:
        Cohen 1960, equation 1.
    """
    if len(first) == 0:
        return np.nan
    times = np.ones(len(first), np.int64) if times is None else times
    n, n_categories = int(times.sum()), int(max(first.max(), second.max())) + 1
    # n^2 p_e, in whole numbers, so that 1 - p_e = 0 is exact
    counts: list[list[int]] = [np.bincount(each, times, n_categories).astype(int).tolist() for each in (first, second)]
    by_chance = sum(a * b for a, b in zip(*counts, strict=True))
    if by_chance == n * n:
        return np.nan
    n_agreed = int(times[first == second].sum())
    return float((n * n_agreed - by_chance) / (n * n - by_chance))


def fleiss_kappa(counts: NDArray[np.int64], times: NDArray[np.int64] | None = None) -> float:
    """Computes Fleiss' kappa of equally many raters an item: (P - P_e) / (1 - P_e), P_e from pooled shares.

    Args:
        counts: shape (n_items, n_categories), how many raters put the item into the category.
        times: shape (n_items,), how often each item counts; once if None.

    Returns:
        1 for perfect agreement, 0 for chance, -1 / (m - 1) at least with m raters. NaN without items, with fewer than
        two raters, and where all ratings are one category.

    Raises:
        ValueError: items differ in their number of raters.

    Source:
        Fleiss 1971, equations 3 to 7.
    """
    n_raters = counts.sum(axis=1)
    if len(counts) == 0 or n_raters[0] < 2:
        return np.nan
    if (n_raters != n_raters[0]).any():
        message = f"fleiss_kappa: items must have equally many raters, got {n_raters.min()} to {n_raters.max()}"
        raise ValueError(message)
    times = np.ones(len(counts), np.int64) if times is None else times
    totals = (times @ counts).tolist()
    n_ratings, by_chance = sum(totals), sum(total**2 for total in totals)
    if by_chance == n_ratings**2:
        return np.nan
    chance = by_chance / n_ratings**2
    return float((np.average(_pair_agreement(counts), weights=times) - chance) / (1 - chance))


def _pair_agreement(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    # the share of each item's pairs of raters that agree; at least two raters an item
    n_raters = counts.sum(axis=1)
    return np.asarray(((counts**2).sum(axis=1) - n_raters) / (n_raters * (n_raters - 1)), np.float64)


@sql_function("rater_agreement")
def agreement(item: Codes, rater: Codes, rating: IntegersOrMinusOne, times: Integers) -> Agreement:
    """Measures the agreement of one set of raters over the items that all of them rated.

    Raters may be people, judges, or, for correctness over templates, the templates themselves.

    Args:
        item: shape (n,), dense codes.
        rater: shape (n,), dense codes; a rater who rated nothing counts too, and then no item is rated by all.
        rating: shape (n,), categories from 0, at most one per (item, rater); -1 for none.
        times: shape (n,), from 1, how often the entry's item counts, the same in all of its entries.

    Returns:
        `cohen_kappa`: NaN unless there are exactly two raters; `fleiss_kappa`; `agreement_rate`: mean over items of the
        share of pairs of raters that agree; `perfect_agreement_rate`: share of items on which all agree; `n_rated`:
        items that every rater rated, each as often as it counts; others drop out. Kappas are NaN where all ratings are
        one category, the rates stand. All but `n_rated` are NaN below two raters or without such items.

    Example:
        Two people on three answers, who agree on two:

        >>> found = agreement(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1] * 3), np.array([1, 1, 0, 0, 1, 0]), np.ones(6, int))
        >>> round(found.cohen_kappa, 3), round(found.agreement_rate, 3)
        (0.4, 0.667)
    """
    if len(item) == 0:
        return Agreement(np.nan, np.nan, np.nan, np.nan, 0)
    n_raters, n_categories = int(rater.max()) + 1, int(rating.max()) + 1
    table = np.full((int(item.max()) + 1, n_raters), _UNRATED, np.int64)
    table[item, rater] = rating
    times_of_item = np.zeros(len(table), np.int64)
    times_of_item[item] = times
    is_rated = (table != _UNRATED).all(axis=1)
    table, times_of_item = table[is_rated], times_of_item[is_rated]
    n_rated = int(times_of_item.sum())
    if n_raters < 2 or n_rated == 0:
        return Agreement(np.nan, np.nan, np.nan, np.nan, n_rated)
    cell = table + n_categories * np.arange(len(table))[:, None]
    counts = np.bincount(cell.ravel(), minlength=len(table) * n_categories).reshape(len(table), n_categories)
    return Agreement(
        cohen_kappa=cohen_kappa(table[:, 0], table[:, 1], times_of_item) if n_raters == 2 else np.nan,
        fleiss_kappa=fleiss_kappa(counts, times_of_item),
        agreement_rate=float(np.average(_pair_agreement(counts), weights=times_of_item)),
        perfect_agreement_rate=float(np.average(counts.max(axis=1) == n_raters, weights=times_of_item)),
        n_rated=n_rated,
    )
