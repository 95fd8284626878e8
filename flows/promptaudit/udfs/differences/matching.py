"""Matches the variants of two runs: equal wordings, else wordings of one kind."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes

SAME_WORDING = -1
OTHER_SAMPLES = "other samples"
OTHER_VARIANTS = "other variants"


FEWEST_CELLS = 0.9
"""A sample counts only with at least this part of the cells of the sample that has most."""


def samples_of_both(side: NDArray[np.int64], sample: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Marks the entries whose sample both runs have, shape (n,); None with fewer than two such samples.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        sample: shape (n,), codes, the same in both runs.
    """
    unit, samples = dense_codes(sample)
    in_run = np.zeros((2, len(samples)), np.bool_)
    in_run[side, unit] = True
    in_both = in_run[0] & in_run[1]
    return in_both[unit] if in_both.sum() >= 2 else None


class Slots(NamedTuple):
    """The pairs of variants, one variant from each run.

    Attributes:
        slot: shape (n,), the pair that each entry belongs to, -1 for a variant that is left out.
        stratum: shape (n_slots,), -1 where both runs have the wording; slots of one stratum >= 0 hold other wordings of
            one kind, any of which could have fallen to either run.
        is_redrawn: whether the runs have too few wordings in common to compare those alone.
    """

    slot: NDArray[np.int64]
    stratum: NDArray[np.int64]
    is_redrawn: bool


def match_variants(side: NDArray[np.int64], variant: NDArray[np.int64], kind: NDArray[np.int64]) -> Slots:
    """Pairs the variants of two runs.

    Where at least two wordings are shared, and at least half of the smaller side's (or each side has one, the same),
    those alone are paired. Elsewhere the shared ones are paired and the others kind by kind in ascending order of their
    codes, cut to the smaller side's number: entropies of unequal numbers of variants do not compare.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        variant: shape (n,), codes; the same code is the same wording.
        kind: shape (n,), codes; a variant may have several (temperatures it came up under).
    """
    code, codes = dense_codes(variant)
    kind_code, kinds = dense_codes(kind)
    seen = np.unique((side * len(codes) + code) * len(kinds) + kind_code)
    kinds_of: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key in seen.tolist():
        unit, one_kind = divmod(key, len(kinds))
        kinds_of[divmod(unit, len(codes))].append(one_kind)
    of_side = [[v for s, v in kinds_of if s == run] for run in (0, 1)]
    shared = sorted(set(of_side[0]) & set(of_side[1]))
    smaller = min(len(variants) for variants in of_side)
    is_alone = len(shared) == len(of_side[0]) == len(of_side[1]) == 1
    is_redrawn = not (is_alone or (len(shared) >= 2 and 2 * len(shared) >= smaller))
    slot_of = np.full((2, len(codes)), -1)
    slot_of[:, shared] = np.arange(len(shared))
    stratum = [SAME_WORDING] * len(shared)
    if is_redrawn:
        others: dict[tuple[int, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for (run, v), its_kinds in sorted(kinds_of.items()):
            if v not in shared:
                others[tuple(its_kinds)][run].append(v)
        for number, (_, pairs) in enumerate(sorted(others.items())):
            for mine, theirs in zip(*pairs, strict=False):
                slot_of[0, mine] = slot_of[1, theirs] = len(stratum)
                stratum.append(number)
    return Slots(slot_of[side, code], np.array(stratum, np.int64), is_redrawn)
