"""How often answers differ between prompts that differ in one kind of variation alone, beyond what repeating a prompt gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.resampling import FEWEST_BEARING, TAIL, bearing_samples, satterthwaite, t_quantile
from udfs.two_way import TwoWayVariance, two_way_variance

FEWEST = 2
"""Fewest variants of a kind, or families of wordings, besides the original for an interval over them."""

MOST_FREE = 2
"""Most degrees of freedom an interval may have, as a multiple of those of the variants: a variance over two or three of
them is often small by chance, and would then weigh nothing in the degrees of freedom of Satterthwaite."""

LARGEST, MOVES, NOT_TOLD, NOT_MEASURED = "moves_most", "moves", "not_told", "not_measured"

_CELLS = 1_000_000  # pairs of variants, or shares of labels, held at once: 8 MB an array


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
class VariationEffect:
    """What one kind of variation does to the answers; NaN where undefined."""

    kind: int
    n_samples: int
    disagreement: float
    noise: float
    effect: float
    effect_low: float
    effect_high: float
    effect_share: float
    verdict: str


def variation_effects(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    n_answers: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    variations: Sequence[Variation],
) -> list[VariationEffect]:
    """Returns of each kind of variation how often it changes the answer, and which of them does so most.

    disagreement is the share of pairs of answers with different labels, of pairs of variants of one line: the mean over the
    pairs of a sample, then over samples. noise is the same of two asks of one variant, each of a line's variants weighing
    as often as it is in a pair. effect = disagreement - noise, which is the mean over pairs of half the squared distance of
    their distributions of labels: 0 in expectation where the kind changes nothing, whatever the noise of its variants.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        label: shape (n,), dense codes, N/A being one of them.
        n_answers: shape (n,), how often the variant gave the sample the label, above 0; each (sample, variant, label)
            stands at most once.
        stands_for: shape (n,), as of `disagreement_shares`.
        variations: the kinds, each with its variants.

    Returns:
        One row a kind. `effect_low`, `effect_high`: effect -+ t sqrt(V_samples + V_variants - V_both) of `two_way_variance`,
        over the pseudo-values Q E_i - (Q - 1) E_i^(-u) of sample i without unit u, with the degrees of freedom of
        Satterthwaite: for other samples and other variants of the kind. NaN below FEWEST units and two samples. Where
        fewer than FEWEST_BEARING samples bear V_samples, the bounds hold those of the same data with one added sample too,
        whose variants agree, or are split between two labels.
        `effect_share`: of the sum of the effects that are told from zero; NaN of one that is not.
        `noise`, `effect` and what is made of it are NaN unless some sample has two variants that were asked twice.
        `verdict`: moves_most where the effect is told from zero and from that of every other kind, on the same samples, at
        5 % over the number of kinds; moves where it is told from zero; not_told; not_measured without bounds. A kind without
        bounds is told from by its samples alone, one without an effect by nothing.
    """
    table = _Table.of(sample, variant, label, n_answers, stands_for)
    kinds = [_Kind.of(table, variation) for variation in variations]
    tail = TAIL / max(1, len(kinds))
    moves = [kind.bounds(tail)[0] > 0 for kind in kinds]
    total = sum(kind.effect for kind, is_told in zip(kinds, moves, strict=True) if is_told)
    rows = []
    for place, kind in enumerate(kinds):
        low, high = kind.bounds(TAIL)
        others = [other for at, other in enumerate(kinds) if at != place]
        is_largest = moves[place] and bool(others) and all(kind.exceeds(other, tail) for other in others)
        verdict = NOT_MEASURED if np.isnan(low) else NOT_TOLD
        if moves[place]:
            verdict = LARGEST if is_largest else MOVES
        rows.append(
            VariationEffect(
                kind=variations[place].kind,
                n_samples=int((~np.isnan(kind.disagreements)).sum()),
                disagreement=_mean(kind.disagreements),
                noise=kind.noise,
                effect=kind.effect,
                effect_low=low,
                effect_high=high,
                effect_share=kind.effect / total if moves[place] else np.nan,
                verdict=verdict,
            )
        )
    return rows


@dataclass(frozen=True)
class _Table:
    """Answers by cell (sample, variant).

    Attributes:
        entries: sample, variant, label and share p of each entry, samples in order.
        is_asked: shape (N, V).
        repeat: shape (N, V), share of disagreeing pairs of asks; NaN for fewer than two.
        stands_for: shape (N, V), how many samples one of those asked twice stands for.
        n_labels: C.
    """

    entries: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    is_asked: NDArray[np.bool_]
    repeat: NDArray[np.float64]
    stands_for: NDArray[np.float64]
    n_labels: int

    @classmethod
    def of(
        cls,
        sample: NDArray[np.int64],
        variant: NDArray[np.int64],
        label: NDArray[np.int64],
        n_answers: NDArray[np.float64],
        stands_for: NDArray[np.float64],
    ) -> _Table:
        """Returns the table of the arguments of `variation_effects`."""
        shape = int(sample.max(initial=-1)) + 1, int(variant.max(initial=-1)) + 1
        n_asks, agreeing, weight = np.zeros(shape), np.zeros(shape), np.ones(shape)
        np.add.at(n_asks, (sample, variant), n_answers)
        np.add.at(agreeing, (sample, variant), n_answers * (n_answers - 1))
        weight[sample, variant] = stands_for
        order = np.argsort(sample, kind="stable")
        p = n_answers / n_asks[sample, variant]
        return cls(
            entries=(sample[order], variant[order], label[order], p[order]),
            is_asked=n_asks > 0,
            repeat=1 - agreeing / np.where(n_asks > 1, n_asks * (n_asks - 1), np.nan),
            stands_for=weight,
            n_labels=int(label.max(initial=-1)) + 1,
        )

    def disagreements(self, members: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yields chunks of samples, and of each the disagreement of every two of these variants, 0 where one has no answer."""
        place = np.full(self.is_asked.shape[1], -1)
        place[members] = np.arange(len(members))
        samples, variants, labels, p = self.entries
        step = max(1, _CELLS // max(1, len(members) * max(len(members), self.n_labels)))
        for start in range(0, len(self.is_asked), step):
            stop = min(start + step, len(self.is_asked))
            own = slice(*np.searchsorted(samples, [start, stop]).tolist())
            is_member = place[variants[own]] >= 0
            shares = np.zeros((stop - start, len(members), self.n_labels))
            entry = (part[own][is_member] for part in (samples, variants, labels, p))
            at, member, label, share = entry
            shares[at - start, place[member], label] = share
            asked = self.is_asked[start:stop, members].astype(np.float64)
            yield (
                slice(start, stop),
                asked[:, :, None] * asked[:, None, :] - shares @ shares.transpose(0, 2, 1),
            )


@dataclass(frozen=True)
class _Kind:
    """One kind of variation.

    Attributes:
        disagreements: shape (N,), of each sample's pairs; NaN without one.
        noise: share of disagreeing pairs of asks of one variant.
        effects: shape (N,), disagreement less noise of each sample.
        variance: the parts over units; None below FEWEST.
        pseudo: the entries (sample, unit, pseudo-value) that it is made of.
    """

    disagreements: NDArray[np.float64]
    noise: float
    effects: NDArray[np.float64]
    pseudo: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    variance: TwoWayVariance | None

    @classmethod
    def of(cls, table: _Table, variation: Variation) -> _Kind:
        """Returns the kind of a table's answers."""
        pairs = (variation.line[:, None] == variation.line) & (variation.value[:, None] != variation.value)
        members, n_samples = variation.variant, len(table.is_asked)
        asked = table.is_asked[:, members].astype(np.float64)
        in_pairs = asked * (asked @ pairs)  # how many pairs each cell is in
        n_pairs = in_pairs.sum(axis=1)
        repeat, weight = table.repeat[:, members], table.stands_for[:, members]
        is_repeated = ~np.isnan(repeat) & (in_pairs > 0)
        part = in_pairs / np.where(n_pairs > 0, n_pairs, 1)[:, None] * np.where(is_repeated, weight, 0.0)
        is_measured = bool((is_repeated.sum(axis=1) >= 2).any())
        noise = float(np.where(is_repeated, part * repeat, 0.0).sum() / part.sum()) if is_measured else np.nan
        # cells that are not asked again have the noise of all, and those that are stand for them
        own_noise = noise + np.where(is_repeated, weight * (repeat - noise), 0.0)

        is_other = variation.unit >= 0
        unit, units_named = dense_codes(variation.unit[is_other])
        in_unit = np.zeros((len(members), len(units_named)))
        in_unit[is_other, unit] = 1
        disagreeing, effect = np.zeros(n_samples), np.zeros(n_samples)
        less = np.zeros((n_samples, in_unit.shape[1]))
        for chunk, of_all in table.disagreements(members):
            of_pairs = of_all * pairs
            disagreeing[chunk] = of_pairs.sum(axis=(1, 2))
            both = pairs * asked[chunk][:, :, None] * asked[chunk][:, None, :]
            half = own_noise[chunk] / 2
            beyond = of_pairs - both * (half[:, :, None] + half[:, None, :])
            effect[chunk] = beyond.sum(axis=(1, 2))
            less[chunk] = _without_each(beyond, in_unit)
        n_less = _n_without_each(asked, pairs, in_unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            effects, effects_less = effect / n_pairs, less / n_less
            disagreements = disagreeing / n_pairs
        n_units = ((asked @ in_unit) > 0).sum(axis=1).astype(np.float64)[:, None]
        values = n_units * effects[:, None] - (n_units - 1) * effects_less
        at, units = np.nonzero(((asked @ in_unit) > 0) & np.isfinite(values))
        pseudo = at, units, values[at, units]
        return cls(disagreements, noise, effects, pseudo, _variance(*pseudo))

    @property
    def effect(self) -> float:
        """Returns the mean over samples."""
        return _mean(self.effects)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Returns low and high, with a probability of `tail` outside each."""
        effects = self.effects[~np.isnan(self.effects)]
        if self.variance is None or len(effects) < 2:
            return np.nan, np.nan
        bounds = [_bounds(effects, self.variance, tail)]
        if bearing_samples(effects) < FEWEST_BEARING:
            at, units, values = self.pseudo
            n_units = int(units.max()) + 1
            # pairs of two halves that disagree, of the units and the original
            split = 2 * ((n_units + 1) // 2) * (n_units // 2 + 1) / (n_units * (n_units + 1))
            for added in (0.0, split):
                variance = _variance(
                    np.append(at, np.full(n_units, len(self.effects))),
                    np.append(units, np.arange(n_units)),
                    np.append(values, np.full(n_units, added)),
                )
                if variance is not None:
                    bounds.append(_bounds(np.append(effects, added), variance, tail))
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def exceeds(self, other: _Kind, tail: float) -> bool:
        """Returns whether the effect is told from a smaller one of another kind, on the samples that have both."""
        difference = self.effects - other.effects
        difference = difference[~np.isnan(difference)]
        if len(difference) < 2:
            return False
        parts = [kind.variance for kind in (self, other) if kind.variance is not None]
        of_samples = float(difference.var(ddof=1)) / len(difference)
        of_variants = sum(part.variants for part in parts)
        total = max(of_samples + of_variants - sum(part.both for part in parts), of_samples, of_variants)
        samples_free, variants_free = len(difference) - 1, _free(parts)
        free = max(
            min(samples_free, variants_free),
            satterthwaite(of_samples, of_variants, samples_free, variants_free, total),
        )
        free = min(free, MOST_FREE * variants_free)
        return bool(difference.mean() > t_quantile(free, tail) * np.sqrt(total))


def _free(parts: Sequence[TwoWayVariance]) -> float:
    """The degrees of freedom of the sum of variances over variants."""
    total = sum(part.variants for part in parts)
    uncertain = sum(part.variants**2 / max(1.0, part.n_variants - 1) for part in parts)
    return total**2 / uncertain if uncertain > 0 else np.inf


def _bounds(effects: NDArray[np.float64], variance: TwoWayVariance, tail: float) -> tuple[float, float]:
    of_samples = float(effects.var(ddof=1)) / len(effects)
    free = variance.degrees_of_freedom(of_samples, len(effects))
    half = t_quantile(min(free, MOST_FREE * (variance.n_variants - 1)), tail) * float(
        np.sqrt(variance.total(of_samples))
    )
    return float(effects.mean()) - half, float(effects.mean()) + half


def _variance(sample: NDArray[np.int64], unit: NDArray[np.int64], value: NDArray[np.float64]) -> TwoWayVariance | None:
    if len(np.unique(unit)) < FEWEST:
        return None
    return two_way_variance(dense_codes(sample)[0], dense_codes(unit)[0], value)


def _without_each(pairs: NDArray[np.float64], in_unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums over ordered pairs (v, w) that have no part in each unit, shape (n_samples, n_units)."""
    of_unit = pairs @ in_unit
    within = (of_unit * in_unit).sum(axis=1)
    return np.asarray(pairs.sum(axis=(1, 2))[:, None] - 2 * pairs.sum(axis=2) @ in_unit + within)


def _n_without_each(
    asked: NDArray[np.float64], pairs: NDArray[np.bool_], in_unit: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The numbers of those pairs."""
    columns = []
    for unit in range(in_unit.shape[1]):
        left = asked * (1 - in_unit[:, unit])
        columns.append((left * (left @ pairs)).sum(axis=1))
    return np.stack(columns, axis=1) if columns else np.zeros((len(asked), 0))


def _mean(values: NDArray[np.float64]) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else np.nan
