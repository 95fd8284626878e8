"""Measures how often answers differ, beyond repetition noise, between prompts that differ in one kind of variation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.answers_by_variant import AnswersByVariant
from promptaudit.udfs.measures.variation_kind import Kind, Variation, mean
from promptaudit.udfs.resampling import TAIL
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import BigInt, Codes, Floats, Integers, Labels

LARGEST, MOVES, NONE_SHOWN, NOT_MEASURED = "moves_most", "moves", "not_told", "not_measured"

REPETITIONS, VARIANTS = "repetitions", "variants"

HARDLY = 0.1
"""Noise below this part of the least disagreement of any kind comes from answers that the provider cached."""


@dataclass(frozen=True)
class VariationEffect:
    """The effect of one kind of variation on the answers; NaN where undefined."""

    kind: int
    n_samples: int
    disagreement: float
    noise: float
    effect: float
    effect_low: float
    effect_high: float
    effect_share: float
    verdict: str
    noise_from: str


class Member(NamedTuple):
    """A prompt variant that takes part in a kind of variation, as in `Variation`; `unit` is None for the original."""

    kind: BigInt
    variant: BigInt
    line: BigInt
    value: BigInt
    unit: BigInt | None


@sql_function("variation_effects")
def variation_effects_of(
    sample: Codes, variant: Integers, label: Labels, n_answers: Floats, stands_for: Floats, members: Sequence[Member]
) -> list[VariationEffect]:
    """Runs `variation_effects` on variants with any codes, and leaves out members without answers."""
    code, known = dense_codes(variant)
    place = {variant: place for place, variant in enumerate(known.tolist())}
    kinds: dict[int, list[tuple[int, ...]]] = {}
    for kind, named, line, value, unit in members:
        if named in place:
            kinds.setdefault(kind, []).append((place[named], line, value, -1 if unit is None else unit))
    variations = [Variation(kind, *np.array(rows, np.int64).T) for kind, rows in sorted(kinds.items())]
    return variation_effects(sample, code, label, n_answers, stands_for, variations)


def variation_effects(
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    label: NDArray[np.int64],
    n_answers: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    variations: Sequence[Variation],
) -> list[VariationEffect]:
    """Measures how often each kind of variation changes the answer, and which kind does so most.

    disagreement is the share of pairs of answers with different labels, over pairs of variants of one line: the mean
    over the pairs of a sample, and then over samples. noise is the same share for two asks of one variant, where each
    variant weighs as much as it has pairs. effect = disagreement - noise, which is the mean over pairs of half the
    squared distance of their distributions of labels: 0 in expectation where the kind changes nothing, whatever the
    noise of its variants.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        label: shape (n,), dense codes, N/A being one of them.
        n_answers: shape (n,), how often the variant gave the sample the label, above 0; each (sample, variant, label)
            stands at most once.
        stands_for: shape (n,), as in `disagreement_shares`.
        variations: the kinds, each with its variants.

    A provider that keeps its answers answers a repetition like the first ask, and then every change of a prompt seems
    to move answers that only chance moves. So where repetitions hardly ever differ, by less than HARDLY of the least
    disagreement of any kind, noise is taken between prompts: it is the disagreement of the kind that has the least.
    `effect` is then the excess of a disagreement over it, for as many variants as the kind with fewer has. For the kind
    of least disagreement the effect is undefined, since nothing shows whether it moves answers too. A single kind has
    none to compare with, and its noise stays the one of repetitions.

    Returns:
        One row a kind. `effect_low`, `effect_high`: effect -+ t sqrt(V_samples + V_variants - V_both) of
        `two_way_variance`, over the pseudo-values Q E_i - (Q - 1) E_i^(-u) of sample i without unit u, or of the
        distances of pairs of units where these vary more, with the degrees of freedom of Satterthwaite: for other
        samples and other variants of the kind. Above, what variants add is on a logarithmic scale. NaN below FEWEST
        units and two samples. Where fewer than FEWEST_BEARING samples bear V_samples, the bounds are widened to include
        the bounds of the same data with one added sample, whose variants agree, or are split between two labels.
        Effects and bounds are clipped to [-1, 1].
        `effect_share`: the effect over the sum of all effects that differ significantly from zero; NaN for any other.
        `noise`, `effect` and what is made of it are NaN unless some sample has two variants that were asked twice.
        `verdict`: moves_most where the effect differs significantly from zero and from every other kind's, on the same
        samples, at 5 % over the number of kinds and for the smaller number of variants; moves where it differs
        significantly from zero; not_told where it does not; not_measured without bounds. No effect differs
        significantly from a kind without an effect. With noise between prompts the effects are differences of two
        kinds, and are tested at 5 % over the number of pairs of kinds.
        `noise_from`: repetitions or variants, by where the noise was taken.
    """
    table = AnswersByVariant.of(sample, variant, label, n_answers, stands_for)
    kinds = [Kind.of(table, variation) for variation in variations]
    least = _least(kinds)
    if least is not None:
        return _between(kinds, least, variations)
    tail = TAIL / max(1, len(kinds))
    moves = [kind.bounds(tail)[0] > 0 for kind in kinds]
    total = sum(kind.effect for kind, is_moving in zip(kinds, moves, strict=True) if is_moving)
    rows = []
    for place, kind in enumerate(kinds):
        effect, low, high = np.clip([kind.effect, *kind.bounds(TAIL)], -1, 1).tolist()
        others = [other for at, other in enumerate(kinds) if at != place]
        is_largest = moves[place] and bool(others) and all(kind.exceeds(other, tail) for other in others)
        verdict = NOT_MEASURED if np.isnan(low) else NONE_SHOWN
        if moves[place]:
            verdict = LARGEST if is_largest else MOVES
        rows.append(
            VariationEffect(
                kind=variations[place].kind,
                n_samples=int((~np.isnan(kind.disagreements)).sum()),
                disagreement=mean(kind.disagreements),
                noise=kind.noise,
                effect=effect,
                effect_low=low,
                effect_high=high,
                effect_share=kind.effect / total if moves[place] else np.nan,
                verdict=verdict,
                noise_from=REPETITIONS,
            )
        )
    return rows


def _least(kinds: Sequence[Kind]) -> Kind | None:
    # the kind of least disagreement; None where repetitions do differ, and with fewer than two kinds
    measured = [kind for kind in kinds if mean(kind.disagreements) >= 0 and not np.isnan(kind.noise)]
    if len(measured) < 2:
        return None
    # of kinds that disagree alike, the one with most variants is measured best
    least = min(measured, key=lambda kind: (mean(kind.disagreements), -kind.n_units))
    is_kept = max(kind.noise for kind in measured) < HARDLY * mean(least.disagreements)
    return least if is_kept else None


def _between(kinds: Sequence[Kind], least: Kind, variations: Sequence[Variation]) -> list[VariationEffect]:
    tail = TAIL / (len(kinds) * (len(kinds) - 1) / 2)
    beyond = np.clip([(np.nan,) * 3 if kind is least else kind.beyond(least, TAIL) for kind in kinds], -1, 1).tolist()
    moves = [kind is not least and kind.exceeds(least, tail) for kind in kinds]
    total = sum(effect for (effect, *_), is_moving in zip(beyond, moves, strict=True) if is_moving)
    rows = []
    for kind, variation, (effect, low, high), is_moving in zip(kinds, variations, beyond, moves, strict=True):
        is_largest = is_moving and all(kind.exceeds(other, tail) for other in kinds if other is not kind)
        verdict = NOT_MEASURED if np.isnan(low) else NONE_SHOWN
        if is_moving:
            verdict = LARGEST if is_largest else MOVES
        rows.append(
            VariationEffect(
                kind=variation.kind,
                n_samples=int((~np.isnan(kind.disagreements)).sum()),
                disagreement=mean(kind.disagreements),
                noise=mean(least.disagreements),
                effect=effect,
                effect_low=low,
                effect_high=high,
                effect_share=effect / total if is_moving else np.nan,
                verdict=verdict,
                noise_from=VARIANTS,
            )
        )
    return rows
