"""Tests tonight against normal nights in five windows at once, on the same samples under the same wordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.differences.alike_nights import NO_SPREAD, NightSpread, night_spread, unit_values
from promptaudit.udfs.differences.difference import FULL_RULE, Difference, Sides, between_nights
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import FloatsOrNaN, Integers

Floats = NDArray[np.float64]

WINDOWS = (1, 2, 4, 8, 16)
"""Numbers of nights, up to tonight, of the windows."""


class WindowTest(NamedTuple):
    """The test of tonight in one stream, over its windows; figures NaN and counts 0 where there is too little to test.

    Attributes:
        difference: mean over samples of the window's mean minus the mean of the normal nights before it.
        low, high: its two-sided 95 % interval.
        standard_error: from the same samples' differences between normal nights as far apart, not widened by the spread
            factor.
        spread_factor: factor by which normal nights vary more than their samples explain, at least 1.
        p_value: two-sided, of the window with the least p-value, times the number of windows, at most 1.
        span: nights of the chosen window; of windows with equal p-values, the shortest.
        carried_by: samples that carry the difference: k where k of many move equally with it.
        p_value_tonight: of tonight alone, not multiplied by the number of windows.
        difference_tonight: of tonight alone.
        difference_two: of the last two nights.
        error_two: its standard error, widened.
        n_samples: samples of the chosen window.
        n_nights: normal nights it was compared with.
    """

    difference: float
    low: float
    high: float
    standard_error: float
    spread_factor: float
    p_value: float
    span: int
    carried_by: float
    p_value_tonight: float
    difference_tonight: float
    difference_two: float
    error_two: float
    n_samples: int
    n_nights: int


UNTESTED = WindowTest(*(np.nan,) * 6, 0, *(np.nan,) * 5, 0, 0)


class Nights(NamedTuple):
    """The nights of a test, tonight last, the oldest first; shape (n_nights,) each.

    Attributes:
        age: how many nights ago each was, falling to 0; nights that are left out leave gaps, which no window spans.
        is_normal: whether it is a normal night: false for tonight, a night that waits, and a good night within an
            alarm.
        is_pinned: whether somebody pinned it; where one is, tonight is compared only with the pinned nights.
    """

    age: NDArray[np.int64]
    is_normal: NDArray[np.bool_]
    is_pinned: NDArray[np.bool_]

    @classmethod
    def of(cls, ages: NDArray[np.int64], normal_ages: Sequence[int], pinned_ages: Sequence[int]) -> Self:
        """Collects the nights of these ages, and tonight; nights that wait and an alarm's good nights are neither."""
        every = np.unique(np.concatenate([ages, np.array([*normal_ages, *pinned_ages, 0], np.int64)]))[::-1]
        return cls(every, np.isin(every, normal_ages), np.isin(every, pinned_ages))

    def places(self, ages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Finds the place of the night of each age."""
        return np.searchsorted(-self.age, -ages)

    def inside(self, window: int) -> NDArray[np.bool_]:
        """Marks the nights of a window."""
        return self.age < window

    def before(self, window: int) -> NDArray[np.bool_]:
        """Marks the nights that a window is compared with."""
        reference = self.is_pinned if self.is_pinned.any() else self.is_normal
        return reference & ~self.inside(window)

    def like(self, window: int) -> NDArray[np.bool_]:
        """Marks the normal nights before a window, which show how far nights differ."""
        return self.is_normal & ~self.inside(window)

    def sides(self, window: int) -> Sides:
        """Collects a window, the nights before it, and the normal nights among them."""
        return Sides(self.age, self.inside(window), self.before(window), self.like(window))

    def is_full(self, window: int) -> bool:
        """Tests whether there are enough normal nights before a window."""
        return self.sides(window).is_known

    def windows(self) -> list[int]:
        """Lists the windows that can be tested; tonight alone also with too few normal nights."""
        known = [window for window in WINDOWS if self.inside(window).sum() == window and self.before(window).any()]
        return [window for window in known if window == 1 or self.is_full(window)]


@sql_function("window_test")
def window_test_of(
    age: Integers,
    sample: Integers,
    cluster: Integers,
    value: FloatsOrNaN,
    normal_ages: Sequence[int],
    pinned_ages: Sequence[int],
    n_wordings: int,
    is_rate: bool,  # noqa: FBT001 - as SQL calls it
    spread_q: float,
    spread_pairs: int,
    shared_q: float,
    shared_pairs: int,
) -> WindowTest:
    """Runs `window_test` on entries of a night and a sample each; age 0 is tonight, and NaN is no value."""
    if not len(sample):
        return UNTESTED
    nights, values, code = table_of(age, sample, value, normal_ages, pinned_ages)
    return window_test(
        values,
        nights,
        n_wordings,
        cluster_of_each(cluster, code),
        is_rate=is_rate,
        spread=NightSpread(spread_q, spread_pairs),
        shared=NightSpread(shared_q, shared_pairs),
    )


@sql_function("night_spread")
def night_spread_of(
    age: Integers, sample: Integers, cluster: Integers, value: FloatsOrNaN, normal_ages: Sequence[int]
) -> NightSpread:
    """Runs `night_spread` on entries of a night and a sample each, over the normal nights."""
    if not len(sample):
        return NO_SPREAD
    nights, values, code = table_of(age, sample, value, normal_ages, ())
    return spread_of(values, nights, cluster_of_each(cluster, code))


def table_of(
    age: Integers, sample: Integers, value: FloatsOrNaN, normal_ages: Sequence[int], pinned_ages: Sequence[int]
) -> tuple[Nights, Floats, NDArray[np.int64]]:
    """Tabulates values by night and sample, and gives the nights and each entry's dense code of its sample too."""
    nights = Nights.of(age, normal_ages, pinned_ages)
    code, distinct = dense_codes(sample)
    values = np.full((len(nights.age), len(distinct)), np.nan)
    values[nights.places(age), code] = value
    return nights, values, code


def cluster_of_each(cluster: NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Looks up the cluster of each sample, from the entries' clusters and dense codes of samples."""
    own = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    own[code] = cluster
    return own


def spread_of(values: Floats, nights: Nights, cluster: NDArray[np.int64] | None = None) -> NightSpread:
    """Measures how far neighbouring normal nights lie apart; NO_SPREAD with fewer than FULL_RULE of them."""
    normal = nights.is_normal
    if normal.sum() < FULL_RULE:
        return NO_SPREAD
    return night_spread(unit_values(values, cluster)[normal], nights.age[normal])


def window_test(
    values: Floats,
    nights: Nights,
    n_wordings: int,
    cluster: NDArray[np.int64] | None = None,
    *,
    is_rate: bool = True,
    spread: NightSpread = NO_SPREAD,
    shared: NightSpread = NO_SPREAD,
) -> WindowTest:
    """Tests tonight's values against normal nights.

    Args:
        values: shape (n_nights, n_samples), of the nights in their order; NaN where a sample was not asked or does not
            count.
        nights: the normal nights, nights that wait, a good night within an alarm, and tonight.
        n_wordings: Q; an answer that flips under one wording moves a sample by 1 / Q, and samples that never varied
            have an error of that size, too.
        cluster: shape (n_samples,), codes of clusters of samples (a document, a user); by default each sample is its
            own.
        is_rate: whether it is a share of answers. A measure that noise itself moves must be beyond its spread over
            samples as well.
        spread: how far neighbouring normal nights lie apart, from `spread_of`.
        shared: the sum of these spreads over all groups of the audit, in this measure.

    Returns:
        See `WindowTest`. A window needs three normal nights before it, and half as many as it spans; with fewer,
        tonight alone is tested, by its spread over samples.
    """
    found = {
        window: between_nights(
            values, nights.sides(window), n_wordings, cluster, is_rate=is_rate, spread=spread, shared=shared
        )
        for window in nights.windows()
    }
    return strongest(found, nights)


def strongest(
    found: dict[int, Difference | None],
    nights: Nights,
    windows: Sequence[int] = WINDOWS,
    *,
    is_one_sided: bool = False,
) -> WindowTest:
    """Picks the test of the window with the least p-value."""
    known = {window: each for window, each in found.items() if each is not None}
    p_values = {window: each.p_value(is_one_sided=is_one_sided) for window, each in known.items()}
    tested = [window for window in windows if window in p_values]
    tonight, two = known.get(1), known.get(2)
    of_alarm = UNTESTED._replace(  # these decide whether the alarm is over
        difference_tonight=np.nan if tonight is None else tonight.mean,
        difference_two=np.nan if two is None else two.mean,
        error_two=np.nan if two is None else two.error,
    )
    if not tested:
        return of_alarm
    window = min(tested, key=lambda each: p_values[each])
    chosen = known[window]
    return of_alarm._replace(
        difference=chosen.mean,
        low=chosen.mean - chosen.half_width,
        high=chosen.mean + chosen.half_width,
        standard_error=math.sqrt(chosen.variance),
        spread_factor=math.sqrt(chosen.factor),
        p_value=min(1.0, len({1, *windows}) * p_values[window]),
        span=window,
        carried_by=chosen.carried_by,
        p_value_tonight=p_values.get(1, np.nan),
        n_samples=chosen.n_samples,
        n_nights=int(nights.before(window).sum()),
    )
