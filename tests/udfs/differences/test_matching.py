"""Which variant stands against which."""

from __future__ import annotations

import numpy as np

from promptaudit.udfs.differences.matching import Slots, match_variants


def match(base: dict[int, int], candidate: dict[int, int]) -> tuple[Slots, dict[tuple[int, int], int]]:
    """From kinds by variant of each run, with the slot of each (side, variant)."""
    rows = [(side, variant, kind) for side, run in enumerate((base, candidate)) for variant, kind in run.items()]
    side, variant, kind = np.array(rows[::-1]).T
    slots = match_variants(side, variant, kind)
    return slots, {
        (s, v): slot for s, v, slot in zip(side.tolist(), variant.tolist(), slots.slot.tolist(), strict=True)
    }


def test_shared_wordings_alone_where_they_are_half_of_the_smaller_side() -> None:
    slots, slot_of = match({1: 0, 2: 0, 3: 0, 4: 0}, {2: 0, 4: 0, 5: 0, 6: 0, 7: 0})
    assert not slots.is_redrawn
    assert slots.stratum.tolist() == [-1, -1]
    assert slot_of[0, 2] == slot_of[1, 2] == 0
    assert slot_of[0, 4] == slot_of[1, 4] == 1
    assert {slot_of[0, 1], slot_of[0, 3], slot_of[1, 5], slot_of[1, 7]} == {-1}


def test_one_shared_of_one_each() -> None:
    slots, _ = match({8: 1}, {8: 1})
    assert not slots.is_redrawn
    assert slots.stratum.tolist() == [-1]


def test_other_wordings_are_paired_kind_by_kind_and_cut_to_the_smaller_side() -> None:
    # the original 9 is shared; kind 1: 10, 11 against 20; kind 2: 12 against 21, 22
    slots, slot_of = match({9: 0, 10: 1, 11: 1, 12: 2}, {9: 0, 20: 1, 21: 2, 22: 2})
    assert slots.is_redrawn
    assert slots.stratum.tolist() == [-1, 0, 1]
    assert slot_of[0, 9] == slot_of[1, 9]
    assert slot_of[0, 10] == slot_of[1, 20]
    assert slot_of[0, 12] == slot_of[1, 21]
    assert slot_of[0, 11] == slot_of[1, 22] == -1


def test_fewer_than_half_shared_is_redrawn() -> None:
    slots, _ = match(dict.fromkeys(range(5), 0), dict.fromkeys(range(3, 8), 0))
    assert slots.is_redrawn
    assert sorted(slots.stratum.tolist()) == [-1, -1, 0, 0, 0]


def test_a_variant_of_several_kinds_meets_one_of_the_same() -> None:
    side = np.array([0, 0, 0, 1, 1, 1])
    variant = np.array([1, 1, 2, 5, 6, 6])
    kind = np.array([1, 2, 1, 1, 1, 2])
    slots = match_variants(side, variant, kind)
    slot_of = dict(zip(variant.tolist(), slots.slot.tolist(), strict=True))
    assert slot_of[1] == slot_of[6]
    assert slot_of[2] == slot_of[5]
    assert slot_of[1] != slot_of[2]
