"""Measures what one kind of variation does to each sample, and how far other variants of the kind might differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.answers_by_variant import AnswersByVariant, Block
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
"""Distances of more units than this are not compared pair by pair; the jackknife alone measures how they vary."""


class Variation(NamedTuple):
    """The prompt variants that take part in one kind of variation, one entry each.

    Attributes:
        kind: its code.
        variant: shape (n,), dense codes, the same as in the answers.
        line: shape (n,), equal for variants that are alike in everything but this kind.
        value: shape (n,), the variant's value of this kind; variants of one line and one value are no pair.
        unit: shape (n,), the code that the interval leaves out at a time: the value, or a family of several values;
            below 0 for the original, which is never left out.
    """

    kind: int
    variant: NDArray[np.int64]
    line: NDArray[np.int64]
    value: NDArray[np.int64]
    unit: NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """The effects of one kind of variation.

    The interval leaves out one unit at a time: a variant, or a family of wordings.

    Attributes:
        disagreements: shape (N,), share of each sample's pairs that disagree; NaN without a pair.
        noise: share of disagreeing pairs of asks of one variant.
        effects: shape (N,), each sample's disagreement minus noise.
        from_original, apart: shape (N,), the same over pairs of a unit and the original, and over pairs of two units.
        n_units: Q.
        n_asked: shape (N,), the number of units that each sample was asked under.
        pseudo: entries (sample, unit, pseudo-value) of the jackknife over units.
        spread: how unequal the units' distances are.
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
        """Measures a kind on a table of answers."""
        members, n_samples = variation.variant, table.n_samples
        unit, units_named = dense_codes(variation.unit[variation.unit >= 0])
        n_units = len(units_named)
        unit_of = np.zeros(len(members), np.int64)  # 0 is the original's
        unit_of[variation.unit >= 0] = 1 + unit
        in_unit = csr_array((np.ones(len(members)), (np.arange(len(members)), unit_of)), (len(members), n_units + 1))

        def by_unit(figures: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(figures @ in_unit)

        paired = _Pairs.of(variation.line, variation.value)
        within_units = _Pairs.of(variation.line, variation.value, unit_of)
        noise = _noise(table, members, paired)

        own_pairs = np.triu_indices(n_units, 1) if n_units <= MOST_PAIRED else (np.empty(0, np.int64),) * 2
        disagreements, effects, from_original, apart = (np.full(n_samples, np.nan) for _ in range(4))
        less, near = (np.full((n_samples, n_units), np.nan) for _ in range(2))
        far = np.full((n_samples, len(own_pairs[0])), np.nan)
        has = np.zeros((n_samples, n_units), np.bool_)
        for block in table.blocks(members):
            chunk = block.samples
            half = _noise_of_cells(block, noise, paired) / 2
            has[chunk] = by_unit(block.is_asked)[:, 1:] > 0
            of_unit = _Sums(*map(by_unit, paired.sums(block, half)))
            within = _Sums(*map(by_unit, within_units.sums(block, half)))
            total = _Sums(*(each.sum(axis=1, keepdims=True) for each in of_unit))
            disagreements[chunk] = _ratio(total.disagreeing, total.n_pairs)[:, 0]
            effects[chunk] = total.effect()[:, 0]
            # 2 u removes a unit's pairs from both ends, and so pairs within it twice: w adds these back once
            without = _Sums(*(a - 2 * u + w for a, u, w in zip(total, of_unit, within, strict=True)))
            less[chunk] = without.effect()[:, 1:]
            of_original = _Sums(*map(by_unit, paired.sums(block, half, unit_of == 0)))
            near[chunk] = of_original.effect()[:, 1:]
            from_original[chunk] = _Sums(*(each[:, 1:].sum(axis=1) for each in of_original)).effect()
            apart[chunk] = _Sums(
                *(o[:, 0] - w[:, 1:].sum(axis=1) for o, w in zip(without, within, strict=True))
            ).effect()
            for each in np.unique(own_pairs[0]):
                of_each = _Sums(*map(by_unit, paired.sums(block, half, unit_of == 1 + each)))
                is_its = own_pairs[0] == each
                far[chunk, is_its] = of_each.effect()[:, 1 + own_pairs[1][is_its]]
        n_has = has.sum(axis=1).astype(np.float64)[:, None]
        values = n_has * effects[:, None] - (n_has - 1) * less
        at, units = np.nonzero(has & np.isfinite(values))
        pseudo = at, units, values[at, units]
        spread = Spread(variance_of_table(near), variance_of_table(far))
        return cls(
            disagreements,
            noise,
            effects,
            from_original,
            apart,
            n_units,
            has.sum(axis=1),
            pseudo,
            spread,
            larger(variance_over(*pseudo), spread.at(n_units)),
        )

    @property
    def effect(self) -> float:
        """Averages the effect over samples."""
        return mean(self.effects)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Computes the low and the high bound of the effect, with a probability of `tail` outside each."""
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
        """Compares the effect with another kind's on the samples that have both: gives the difference and its bounds.

        Two units differ more from each other than from the original, so that the effect grows with their number. Both
        effects are therefore taken at the smaller number of units. Where a kind has a single unit, its units are taken
        to be as uneven as this kind's. NaN below two samples.
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
        """Tests whether the effect is larger than another kind's, at a probability of error of `tail`."""
        return self.beyond(other, tail)[1] > 0

    def _at(self, n_units: int) -> NDArray[np.float64]:
        # the expected effects of a subset of so many units; a sample asked under fewer has the effect of these,
        # slightly smaller
        if n_units == 0:
            return self.effects
        near, far = weights(n_units)
        expected = near * self.from_original + (far * self.apart if far else 0.0)
        is_own = (self.n_asked == n_units) & (n_units == self.n_units)
        return np.where(is_own | np.isnan(self.from_original).all(), self.effects, expected)

    def _variance_at(self, n_units: int) -> TwoWayVariance | None:
        return self.variance if n_units in (0, self.n_units) else larger(self.variance, self.spread.at(n_units))

    def _as_uneven_as(self, other: Kind) -> TwoWayVariance | None:
        # the variance of a single unit, if its effect were as uncertain, in proportion, as the other kind's
        of_other = other.spread.from_original
        if of_other is None or not mean(other.from_original) > 0:
            return None
        ratio = max(0.0, mean(self.from_original)) / mean(other.from_original)
        own = max(0.0, of_other.variants - of_other.both) * of_other.n_variants
        return TwoWayVariance(ratio**2 * own, 0.0, of_other.n_variants)


def mean(values: NDArray[np.float64]) -> float:
    """Averages the values that are not NaN; NaN where none is left."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else np.nan


class _Sums(NamedTuple):
    # over pairs of variants that were both asked: their number, their disagreement, and the disagreement expected from
    # noise
    n_pairs: NDArray[np.float64]
    disagreeing: NDArray[np.float64]
    noise: NDArray[np.float64]

    def effect(self) -> NDArray[np.float64]:
        return _ratio(self.disagreeing - self.noise, self.n_pairs)


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)


@dataclass(frozen=True)
class _Pairs:
    # All pairs of one line and different values are the pairs of one line minus the pairs of one line and value, so
    # sums need no table of variants by variants.
    line: NDArray[np.int64]
    value: NDArray[np.int64]

    @classmethod
    def of(cls, *codes: NDArray[np.int64]) -> _Pairs:
        # a third code restricts the pairs to one unit
        line, value, *unit = (dense_codes(each)[0] for each in codes)
        if unit:
            line = dense_codes(line * (unit[0].max(initial=0) + 1) + unit[0])[0]
        return cls(line, dense_codes(line * (value.max(initial=0) + 1) + value)[0])

    def of_each(self, figures: NDArray[np.float64]) -> NDArray[np.float64]:
        # the sum over all variants that each variant is a pair with; shape (n, V, ...), like `figures`
        return _over_equal(figures, self.line) - _over_equal(figures, self.value)

    def sums(self, block: Block, half: NDArray[np.float64], is_other: NDArray[np.bool_] | None = None) -> _Sums:
        asked, shares, halved = block.is_asked, block.shares, block.is_asked * half
        if is_other is None:
            others = asked, shares, halved
        else:
            others = asked * is_other, shares * is_other[:, None], halved * is_other
        n_pairs = asked * self.of_each(others[0])
        alike = np.einsum("nvc,nvc->nv", shares, self.of_each(others[1]))
        return _Sums(n_pairs, n_pairs - alike, half * n_pairs + asked * self.of_each(others[2]))


def _over_equal(figures: NDArray[np.float64], code: NDArray[np.int64]) -> NDArray[np.float64]:
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(int(code.max(initial=-1)) + 1))
    return np.asarray(np.add.reduceat(figures[:, order], starts, axis=1)[:, code])


def _noise(table: AnswersByVariant, members: NDArray[np.int64], paired: _Pairs) -> float:
    # NaN where no sample has two variants that were asked twice
    disagreeing = parts = 0.0
    is_measured = False
    for block in table.blocks(members):
        part, is_repeated = _parts(block, paired)
        is_measured |= bool((is_repeated.sum(axis=1) >= 2).any())
        disagreeing += float(np.where(is_repeated, part * block.repeat, 0.0).sum())
        parts += float(part.sum())
    return disagreeing / parts if is_measured else np.nan


def _noise_of_cells(block: Block, noise: float, paired: _Pairs) -> NDArray[np.float64]:
    # a cell that is not asked again has the noise of all; each cell that is stands for several
    _, is_repeated = _parts(block, paired)
    return noise + np.where(is_repeated, block.stands_for * (block.repeat - noise), 0.0)


def _parts(block: Block, paired: _Pairs) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    # the weight of each cell in its sample's pairs, and whether it was asked again and has a pair
    in_pairs = block.is_asked * paired.of_each(block.is_asked)
    n_pairs = in_pairs.sum(axis=1)
    is_repeated = ~np.isnan(block.repeat) & (in_pairs > 0)
    weight = np.where(is_repeated, block.stands_for, 0.0)
    return in_pairs / np.where(n_pairs > 0, n_pairs, 1)[:, None] * weight, is_repeated
