"""What one kind of variation does to each sample, and how far that is from what other variants of the kind would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.answers_by_variant import AnswersByVariant
from promptaudit.udfs.measures.variation_spread import (
    Spread,
    bounds_of,
    bounds_of_difference,
    larger,
    variance_of_table,
    variance_over,
    weights,
)
from promptaudit.udfs.resampling import FEWEST_BEARING, bearing_samples
from promptaudit.udfs.two_way import TwoWayVariance

MOST_PAIRED = 11
"""Most units whose distances are looked at pair by pair; of more the jackknife alone says how much they vary."""


class Variation(NamedTuple):
    """The prompt variants that take part in one kind of variation, an entry each.

    Attributes:
        kind: its code.
        variant: shape (n,), dense codes of variants, as in the answers.
        line: shape (n,), equal for variants that are alike in everything but this kind.
        value: shape (n,), what the variant has of this kind; variants of one line and one value are no pair.
        unit: shape (n,), what the interval leaves out at a time: the value, or what several values have in common; below 0
            for what the original has, which stays.
    """

    kind: int
    variant: NDArray[np.int64]
    line: NDArray[np.int64]
    value: NDArray[np.int64]
    unit: NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """One kind of variation. A unit is what the interval leaves out at a time: a variant, or a family of wordings.

    Attributes:
        disagreements: shape (N,), of each sample's pairs; NaN without one.
        noise: share of disagreeing pairs of asks of one variant.
        effects: shape (N,), disagreement less noise of each sample.
        from_original, apart: shape (N,), the same of its pairs of a unit and the original, and of its pairs of two units.
        n_units: Q.
        n_asked: shape (N,), how many of them each sample was asked under.
        pseudo: the entries (sample, unit, pseudo-value) that the jackknife over units is made of.
        spread: of the units' distances.
        variance: over units; None below FEWEST.
    """

    disagreements: NDArray[np.float64]
    noise: float
    effects: NDArray[np.float64]
    from_original: NDArray[np.float64]
    apart: NDArray[np.float64]
    n_units: int
    n_asked: NDArray[np.int64]
    pseudo: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    spread: Spread
    variance: TwoWayVariance | None

    @classmethod
    def of(cls, table: AnswersByVariant, variation: Variation) -> Kind:
        """Returns the kind of a table's answers."""
        pairs = (variation.line[:, None] == variation.line) & (variation.value[:, None] != variation.value)
        members, n_samples = variation.variant, len(table.is_asked)
        asked = table.is_asked[:, members].astype(np.float64)
        noise, own_noise = _noise(table, members, asked * (asked @ pairs))
        unit, units_named = dense_codes(variation.unit[variation.unit >= 0])
        n_units = len(units_named)
        in_unit = np.zeros((len(members), n_units + 1))  # the first is what the original has
        in_unit[variation.unit < 0, 0] = 1
        in_unit[np.flatnonzero(variation.unit >= 0), 1 + unit] = 1

        own_pairs = np.triu_indices(n_units, 1) if n_units <= MOST_PAIRED else (np.empty(0, np.int64),) * 2
        disagreements, effects, from_original, apart = (np.full(n_samples, np.nan) for _ in range(4))
        less, near = (np.full((n_samples, n_units), np.nan) for _ in range(2))
        far = np.full((n_samples, len(own_pairs[0])), np.nan)
        for chunk, of_all in table.disagreements(members):
            both = pairs * asked[chunk][:, :, None] * asked[chunk][:, None, :]
            half = own_noise[chunk] / 2
            beyond = of_all * pairs - both * (half[:, :, None] + half[:, None, :])
            found, counted = (in_unit.T @ each @ in_unit for each in (beyond, both))  # by pair of units
            with np.errstate(divide="ignore", invalid="ignore"):
                disagreements[chunk] = (of_all * pairs).sum(axis=(1, 2)) / both.sum(axis=(1, 2))
                effects[chunk] = found.sum(axis=(1, 2)) / counted.sum(axis=(1, 2))
                less[chunk] = _without_each(found) / _without_each(counted)
                near[chunk] = (found / counted)[:, 0, 1:]
                far[chunk] = (found / counted)[:, 1 + own_pairs[0], 1 + own_pairs[1]]
                from_original[chunk], apart[chunk] = (
                    part(found) / part(counted) for part in (_of_original, _of_others)
                )
        has = (asked @ in_unit[:, 1:]) > 0
        n_has = has.sum(axis=1).astype(np.float64)[:, None]
        values = n_has * effects[:, None] - (n_has - 1) * less
        at, units = np.nonzero(has & np.isfinite(values))
        pseudo = at, units, values[at, units]
        spread = Spread(variance_of_table(near), variance_of_table(far))
        return cls(
            disagreements, noise, effects, from_original, apart, n_units, has.sum(axis=1), pseudo, spread,
            larger(variance_over(*pseudo), spread.at(n_units)),
        )  # fmt: skip

    @property
    def effect(self) -> float:
        """Returns the mean over samples."""
        return mean(self.effects)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Returns low and high, with a probability of `tail` outside each."""
        effects = self.effects[~np.isnan(self.effects)]
        if self.variance is None or len(effects) < 2:
            return np.nan, np.nan
        bounds = [bounds_of(effects, self.variance, tail)]
        if bearing_samples(effects) < FEWEST_BEARING:
            at, units, values = self.pseudo
            n_units = int(units.max()) + 1
            # pairs of two halves that disagree, of the units and the original
            split = 2 * ((n_units + 1) // 2) * (n_units // 2 + 1) / (n_units * (n_units + 1))
            for added in (0.0, split):
                variance = variance_over(
                    np.append(at, np.full(n_units, len(self.effects))),
                    np.append(units, np.arange(n_units)),
                    np.append(values, np.full(n_units, added)),
                )
                if variance is not None:
                    bounds.append(bounds_of(np.append(effects, added), variance, tail))
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def beyond(self, other: Kind, tail: float) -> tuple[float, float, float]:
        """Returns how much larger the effect is than that of another kind, on the samples that have both, with its bounds.

        Two units are further from each other than from the original, so that the effect grows with their number: both are
        of the smaller number of units. The units of a kind that has a single one are taken to be as uneven as this kind's.
        NaN below two samples.
        """
        n_units = min(self.n_units, other.n_units)
        own, its = self._at(n_units), other._at(n_units)
        difference = own - its
        difference = difference[~np.isnan(difference)]
        if len(difference) < 2:
            return np.nan, np.nan, np.nan
        variances = (self._variance_at(n_units), other._variance_at(n_units) or other._as_uneven_as(self))
        parts = [part for part in variances if part is not None]
        return float(difference.mean()), *bounds_of_difference(difference, parts, tail)

    def exceeds(self, other: Kind, tail: float) -> bool:
        """Returns whether the effect is told from a smaller one of another kind, with a probability of `tail` by chance."""
        return self.beyond(other, tail)[1] > 0

    def _at(self, n_units: int) -> NDArray[np.float64]:
        """Returns the effects that so many of its units would have had in expectation, shape (N,).

        Of a sample that was asked under fewer than all, the effect is of those, and so a little smaller.
        """
        if n_units == 0:
            return self.effects
        near, far = weights(n_units)
        expected = near * self.from_original + (far * self.apart if far else 0.0)
        is_own = (self.n_asked == n_units) & (n_units == self.n_units)
        return np.where(is_own | np.isnan(self.from_original).all(), self.effects, expected)

    def _variance_at(self, n_units: int) -> TwoWayVariance | None:
        return self.variance if n_units in (0, self.n_units) else larger(self.variance, self.spread.at(n_units))

    def _as_uneven_as(self, other: Kind) -> TwoWayVariance | None:
        """The variance of a single unit, were its effect as uncertain, in proportion, as that of one of another kind's."""
        of_other = other.spread.from_original
        if of_other is None or not mean(other.from_original) > 0:
            return None
        ratio = max(0.0, mean(self.from_original)) / mean(other.from_original)
        own = max(0.0, of_other.variants - of_other.both) * of_other.n_variants
        return TwoWayVariance(ratio**2 * own, 0.0, of_other.n_variants)


def mean(values: NDArray[np.float64]) -> float:
    """Returns the mean of what is there; NaN where nothing is."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else np.nan


def _noise(
    table: AnswersByVariant, members: NDArray[np.int64], in_pairs: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Returns the noise of a kind's pairs, and of each cell; `in_pairs`: how many pairs each cell is in."""
    n_pairs = in_pairs.sum(axis=1)
    repeat, weight = table.repeat[:, members], table.stands_for[:, members]
    is_repeated = ~np.isnan(repeat) & (in_pairs > 0)
    part = in_pairs / np.where(n_pairs > 0, n_pairs, 1)[:, None] * np.where(is_repeated, weight, 0.0)
    is_measured = bool((is_repeated.sum(axis=1) >= 2).any())
    noise = float(np.where(is_repeated, part * repeat, 0.0).sum() / part.sum()) if is_measured else np.nan
    # cells that are not asked again have the noise of all, and those that are stand for them
    return noise, noise + np.where(is_repeated, weight * (repeat - noise), 0.0)


def _of_original(by_unit: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(by_unit[:, 0, 1:].sum(axis=1))


def _of_others(by_unit: NDArray[np.float64]) -> NDArray[np.float64]:
    own = by_unit[:, 1:, 1:]
    return np.asarray(own.sum(axis=(1, 2)) - np.trace(own, axis1=1, axis2=2))


def _without_each(by_unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the sums over ordered pairs that have no part in each unit, shape (n_samples, n_units)."""
    within = np.diagonal(by_unit, axis1=1, axis2=2)
    left = by_unit.sum(axis=(1, 2))[:, None] - 2 * by_unit.sum(axis=2) + within
    return np.asarray(left[:, 1:])
