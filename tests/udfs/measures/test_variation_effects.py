"""Which kind of variation moves answers, beyond what repeating a prompt gives."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from promptaudit.udfs.measures.variation_effects import VariationEffect, variation_effects
from promptaudit.udfs.measures.variation_kind import Variation
from tests.udfs.variation_worlds import World, rates

Cell = tuple[int, int]


def kind(*members: tuple[int, int, int], code: int = 0) -> Variation:
    """A kind of (variant, line, value); value 0 is the original's."""
    variant, line, value = (np.array(part) for part in zip(*members, strict=True))
    return Variation(code, variant, line, value, np.where(value > 0, value, -1))


def effects(
    cells: dict[Cell, Sequence[int]], *kinds: Variation, weights: dict[Cell, float] | None = None
) -> list[VariationEffect]:
    """Of answers by (sample, variant), a label an ask."""
    entries = [
        (sample, variant, label, labels.count(label), (weights or {}).get((sample, variant), 1.0))
        for (sample, variant), labels in cells.items()
        for label in sorted(set(labels))
    ]
    sample, variant, label, count, weight = (np.array(part) for part in zip(*entries, strict=True))
    return variation_effects(sample, variant, label, count.astype(float), weight.astype(float), kinds)


def test_disagreement_less_what_repeating_gives() -> None:
    # of the original and the second variant half the pairs of asks differ, as do the two asks of the second:
    # noise (0 + 1) / 2; nothing is left for the kind. The third always says 1: it differs from the first always, from the second
    # half the time, so disagreement is (.5 + 1 + .5) / 3 = 2/3, noise (0 + 1 + 0) / 3, effect 1/3
    cells = {(0, 0): [0, 0], (0, 1): [0, 1], (0, 2): [1, 1]}
    two, three = effects(cells, kind((0, 0, 0), (1, 0, 1)), kind((0, 0, 0), (1, 0, 1), (2, 0, 2), code=7))
    assert (two.disagreement, two.noise, two.effect) == (0.5, 0.5, 0)
    assert (three.disagreement, three.noise, three.effect) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    assert (two.kind, three.kind, two.n_samples) == (0, 7, 1)
    assert np.isnan([two.effect_low, three.effect_high]).all()  # of one sample nothing is known about others
    assert two.verdict == three.verdict == "not_measured"


def test_a_crossed_design_counts_pairs_of_every_line() -> None:
    # a 2 x 2 design whose format alone moves: variants 0, 1 (other wording), 2 (other format), 3 (both)
    cells: dict[Cell, Sequence[int]] = {
        (sample, variant): [int(variant >= 2)] * 2 for sample in range(3) for variant in range(4)
    }
    wording = kind((0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1))
    form = kind((0, 0, 0), (2, 0, 1), (1, 1, 0), (3, 1, 1))
    moved, unmoved = effects(cells, form, wording)
    assert (moved.effect, unmoved.effect) == (1, 0)


def test_variants_of_one_line_and_one_value_are_no_pair() -> None:
    cells: dict[Cell, Sequence[int]] = {(0, 0): [0, 0], (0, 1): [1, 1], (0, 2): [0, 0]}
    (row,) = effects(cells, kind((0, 0, 0), (1, 0, 1), (2, 0, 1)))
    assert row.disagreement == 0.5  # 0-1 differ, 0-2 agree; 1-2 are none


def slowly(cells: dict[Cell, Sequence[int]], members: Variation, left_out: int | None = None) -> float:
    """The effect by its definition, every cell asked twice at least, without a unit."""
    place = [at for at, unit in enumerate(members.unit) if unit != left_out or unit < 0]
    found = []
    for sample in sorted({sample for sample, _ in cells}):
        pairs = []
        for one, other in itertools.permutations(place, 2):
            own, its = (cells.get((sample, int(members.variant[at]))) for at in (one, other))
            if own is None or its is None or members.line[one] != members.line[other]:
                continue
            differ = np.mean([a != b for a in own for b in its])
            repeats = [np.mean([a != b for a, b in itertools.permutations(asks, 2)]) for asks in (own, its)]
            pairs.append(differ - np.mean(repeats))
        if pairs:
            found.append(np.mean(pairs))
    return float(np.mean(found))


def test_it_is_what_the_definition_says_with_gaps_and_uneven_asks() -> None:
    rng = np.random.default_rng(3)
    cells = {
        (sample, variant): rng.integers(0, 3, rng.integers(2, 5)).tolist()
        for sample in range(12)
        for variant in range(6)
        if rng.random() < 0.85
    }
    crossed = kind((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 1), (5, 1, 2))
    line = kind((0, 0, 0), (3, 0, 1), (5, 0, 2))
    for members, row in zip((crossed, line), effects(cells, crossed, line), strict=True):
        assert row.effect == pytest.approx(slowly(cells, members), abs=1e-12)


def test_a_part_that_is_asked_twice_stands_for_all() -> None:
    # of four samples one is asked twice, and stands for four: noise is its own, (1 + 0) / 2
    cells: dict[Cell, Sequence[int]] = {(sample, variant): [0] for sample in range(4) for variant in range(2)}
    cells |= {(0, 0): [0, 1], (0, 1): [0, 0]}
    (row,) = effects(cells, kind((0, 0, 0), (1, 0, 1)), weights={(0, 0): 4, (0, 1): 4})
    assert (row.disagreement, row.noise) == (0.125, 0.5)


def test_without_repetitions_there_is_no_noise_and_no_effect() -> None:
    cells: dict[Cell, Sequence[int]] = {(s, v): [v % 2] for s in range(9) for v in range(4)} | {(0, 0): [0, 0]}
    (row,) = effects(cells, kind((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)))
    assert row.disagreement == pytest.approx(2 / 3)
    assert np.isnan([row.noise, row.effect, row.effect_low, row.effect_share]).all()
    assert row.verdict == "not_measured"


def test_a_kind_whose_effect_is_not_known_has_no_share_and_is_told_from_by_none() -> None:
    # of 40 samples half change under either of two formats; wordings are asked once
    cells: dict[Cell, Sequence[int]] = {
        (s, v): [int(0 < v < 4 and s % 2 == 0)] * 2 if v < 4 else [0] for s in range(40) for v in range(6)
    }
    form, wording = effects(
        cells, kind((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)), kind((0, 0, 0), (4, 0, 1), (5, 0, 2), code=1)
    )
    assert (form.effect, form.effect_share, form.verdict) == (pytest.approx(0.25), 1, "moves")
    assert np.isnan([wording.effect, wording.effect_share]).all()
    assert wording.verdict == "not_measured"


def test_nothing_that_differs_leaves_room_for_a_sample_that_would() -> None:
    cells: dict[Cell, Sequence[int]] = {(sample, variant): [0, 0] for sample in range(30) for variant in range(4)}
    (row,) = effects(cells, kind((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)))
    assert row.effect == 0
    assert row.effect_low < 0 < row.effect_high < 0.2
    assert np.isnan(row.effect_share)
    assert row.verdict == "not_told"


def test_variants_of_which_some_break_tell_nothing_of_others() -> None:
    # two of three formats are answered otherwise on every sample: leaving out any one leaves as many pairs that differ
    cells: dict[Cell, Sequence[int]] = {(s, v): [int(v in (1, 2))] * 2 for s in range(40) for v in range(4)}
    (row,) = effects(cells, kind((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)))
    assert row.effect == pytest.approx(2 / 3)
    assert row.effect_low < 0
    assert row.verdict == "not_told"


def test_variants_that_move_unevenly_leave_more_room_above() -> None:
    cells: dict[Cell, Sequence[int]] = {
        (s, v): [v * (s * 7 % 60 < moved)] * 2 for s in range(60) for v, moved in enumerate((0, 6, 10, 16, 24))
    }
    (row,) = effects(cells, kind(*((v, 0, v) for v in range(5))))
    assert row.effect_high - row.effect > 1.2 * (row.effect - row.effect_low)
    assert row.effect_high <= 1


def test_kinds_of_unequal_numbers_are_compared_at_the_smaller_one() -> None:
    # two variants are further from each other than from the original, and of eight variants most pairs are such
    alike = rates(World(strengths=(1, 1, 0), temperature=0.7), 250, (2, 8, 4), 30)
    assert alike.effect[1] > 1.3 * alike.effect[0]
    assert alike.named.sum() <= 0.05
    first = rates(World(strengths=(0.2, 1.6, 0), temperature=0.7), 250, (2, 8, 4), 30)
    assert first.named[1] >= 0.9


def test_gaps_in_one_kind_name_no_other() -> None:
    # two kinds of eight variants alike; of one each sample was asked under two of them
    dice, n_named = np.random.default_rng(11), 0
    kinds = [kind((0, 0, 0), *((1 + 8 * k + v, 0, 1 + v) for v in range(8)), code=k) for k in range(2)]
    for _ in range(40):
        moved = dice.random((150, 17)) < 0.2
        asked = {int(v) for v in range(17)}
        cells: dict[Cell, Sequence[int]] = {}
        for s in range(150):
            few = set(dice.choice(8, 6, replace=False) + 1)
            cells |= {(s, v): [int(moved[s, v] and v > 0)] * 2 for v in asked - {int(v) for v in few}}
        n_named += any(row.verdict == "moves_most" for row in effects(cells, *kinds))
    assert n_named <= 2


def test_no_answers_have_no_effect() -> None:
    empty = np.empty(0, np.int64)
    assert variation_effects(empty, empty, empty, np.empty(0), np.empty(0), []) == []


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_no_kind_is_named_where_none_moves_or_two_move_alike(temperature: float) -> None:
    nothing = rates(World(strengths=(0, 0, 0, 0), temperature=temperature), 60, 5, 40)
    assert nothing.named.sum() == 0
    assert nothing.covered.min() >= 0.95
    alike = rates(World(strengths=(1, 1, 0, 0), temperature=temperature), 60, 5, 40)
    assert alike.named.sum() <= 0.05
    assert alike.covered.min() >= 0.9


@pytest.mark.parametrize("place", [0, 2])
def test_the_kind_that_moves_alone_is_named(place: int) -> None:
    strengths = [0.0] * 4
    strengths[place] = 1
    found = rates(World(strengths=strengths), 60, 5, 40)
    assert found.named[place] >= 0.9
    assert found.named.sum() == found.named[place]
    assert found.covered.min() >= 0.9


def test_answers_that_are_kept_have_their_noise_between_prompts() -> None:
    """Of 100 runs in which nothing moves a kind was told in one; by the noise of repetitions in .98 of them."""
    kept = {"temperature": 0.7, "is_kept": True}
    nothing = rates(World(strengths=(0, 0, 0, 0), **kept), 60, 4, 40)
    assert nothing.moving.sum() <= 0.1
    first = rates(World(strengths=(1.5, 0, 0), **kept), 200, 8, 15)
    assert first.named[0] >= 0.9
    assert first.moving[1:].sum() <= 0.1


def test_noise_between_prompts_is_the_least_disagreement() -> None:
    # of four samples the wording has another answer on one, the format on two, and no repetition ever differs
    cells: dict[Cell, Sequence[int]] = {
        (sample, variant): [int(sample < moved)] * 2
        for sample in range(4)
        for variant, moved in enumerate((0, 1, 1, 2, 2))
    }
    wording = kind((0, 0, 0), (1, 0, 1), (2, 0, 2))
    form = kind((0, 0, 0), (3, 0, 1), (4, 0, 2), code=1)
    least, more = effects(cells, wording, form)
    # of three pairs the two with the original differ: 2/3 on one sample of four, and on two
    assert (least.disagreement, more.disagreement) == pytest.approx((1 / 6, 1 / 3))
    assert (least.noise, more.noise, more.effect) == pytest.approx((1 / 6, 1 / 6, 1 / 6))
    assert np.isnan(least.effect)
    assert {least.noise_from, more.noise_from} == {"variants"}
    # where a kind moves nothing at all, there is nothing that chance could have moved
    unmoved = kind((0, 0, 0), (5, 0, 1), code=2)
    of_three = effects({**cells, **{(sample, 5): [0, 0] for sample in range(4)}}, wording, form, unmoved)
    assert {row.noise_from for row in of_three} == {"repetitions"}


def test_thousands_of_wordings_take_no_table_of_pairs() -> None:
    # of 5 samples under 3,000 wordings a table of pairs is 72 MB, of which there were twenty at once
    n, q = 5, 3000
    sample, variant = (np.repeat(np.arange(n), q), np.tile(np.arange(q), n))
    wordings = np.arange(q)
    of_wordings = Variation(0, wordings, np.zeros(q, np.int64), wordings, np.where(wordings == 0, -1, wordings))
    tracemalloc.start()
    (row,) = variation_effects(sample, variant, variant % 2, np.ones(n * q), np.ones(n * q), [of_wordings])
    assert tracemalloc.get_traced_memory()[1] < 72e6 / 8
    tracemalloc.stop()
    # of the ordered pairs of 3,000 halves disagree with the other half
    assert row.disagreement == pytest.approx(1500 / 2999)
