"""Figures of runs put together anew, against the same runs measured plainly."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.comparison import measured as module
from promptaudit.udfs.comparison.alphas import Alphas
from promptaudit.udfs.comparison.measured import measured
from promptaudit.udfs.stability.krippendorff import Level
from tests.support.plain_krippendorff import krippendorff_alpha
from tests.udfs.comparison.plain_runs import (
    Task,
    figures,
    random_answers,
    runs_of,
    table_of,
    with_rows_of,
    with_samples,
)

NUMBERS = np.array([0.5, 1.0, 4.0])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("redrawn", [False, True])
@pytest.mark.parametrize("awkward", [False, True])
def test_exchanged_rows_and_variants_as_measured_plainly(level: Level, *, redrawn: bool, awkward: bool) -> None:
    n_classes = len(NUMBERS) + 1
    table = table_of(random_answers(5, redrawn=redrawn, awkward=awkward), n_classes)
    task = Task(table.gold, n_classes, NUMBERS, level)
    runs = runs_of(table)
    rng = np.random.default_rng(0)
    moves = rng.integers(0, 2, (4, table.n_samples)).astype(np.float64)
    units = [*runs[0], *runs[1]]
    chosen = np.zeros((4, len(units)))
    for row in chosen:
        row[rng.permutation(len(units))[: table.n_slots]] = 1
    seen = set()
    for family in measured(table, NUMBERS, level):
        by_rows = family.exchanged(moves)
        by_units = family.dealt(chosen) if family.n_units else None
        for draw in range(4):
            swapped = moves[draw].astype(np.bool_)
            plain_rows = (
                figures(with_rows_of(runs[0], runs[1], swapped), task),
                figures(with_rows_of(runs[1], runs[0], swapped), task),
            )
            dealt = [
                [unit for unit, is_first in zip(units, chosen[draw], strict=True) if is_first == k] for k in (1, 0)
            ]
            plain_units = [figures(run, task) for run in dealt] if by_units else []
            for k, name in enumerate(family.names):
                seen.add(name)
                for run in (0, 1):
                    assert by_rows[run][k, draw] == pytest.approx(plain_rows[run][name], abs=1e-9), (name, "rows")
                    if by_units:
                        assert by_units[run][k, draw] == pytest.approx(plain_units[run][name], abs=1e-9), (
                            name,
                            "units",
                        )
    assert seen == {"sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_intra", "pss_inter"}


def test_shares_too_fine_to_count_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(random_answers(5, n=30, redrawn=True), 4)
    rng = np.random.default_rng(0)
    moves = rng.integers(0, 2, (50, table.n_samples)).astype(np.float64)
    chosen = (rng.random((50, 2 * table.n_slots)) < 0.5).astype(np.float64)
    counted = measured(table, NUMBERS, "nominal")[0]
    monkeypatch.setattr(module, "lattice_of", lambda *_: None)
    sorted_ = measured(table, NUMBERS, "nominal")[0]
    assert counted.names == ("sensitivity", "consistency")
    for draw in ("exchanged", "resampled"):
        assert np.allclose(getattr(counted, draw)(moves), getattr(sorted_, draw)(moves), atol=1e-9, equal_nan=True)
    assert np.allclose(counted.dealt(chosen), sorted_.dealt(chosen), atol=1e-9, equal_nan=True)


def test_repetitions_that_do_not_count_in_pss_inter() -> None:
    """Of the base run the second repetition has one label alone, of both runs the third has few samples."""
    rng = np.random.default_rng(3)
    full = rng.integers(0, 3, (2, 3, 12)).astype(np.int16)
    flat = np.stack([np.full((3, 12), 1), rng.integers(0, 3, (3, 12))]).astype(np.int16)
    few = np.where(np.arange(12) < 5, rng.integers(0, 3, (2, 3, 12)), -1).astype(np.int16)
    alphas = Alphas("pss_inter", [[full, flat, few]], [np.arange(3)], NUMBERS, "nominal", 6)
    base, candidate = alphas.resampled(np.ones((1, 12)))
    of_full, of_flat = (
        [krippendorff_alpha(labels.T.tolist(), "nominal") for labels in replicate] for replicate in (full, flat)
    )
    assert base[0, 0] == pytest.approx(of_full[0], abs=1e-9)
    assert candidate[0, 0] == pytest.approx((of_full[1] + of_flat[1]) / 2, abs=1e-9)
    assert alphas.n_samples == (12,)
    # rows that change places take their labels along: exchanged as a whole, the figures are
    moved = alphas.exchanged(np.ones((1, 12)))
    assert (moved[0][0, 0], moved[1][0, 0]) == pytest.approx((candidate[0, 0], base[0, 0]), abs=1e-12)


def test_resampled_samples_as_if_they_stood_several_times() -> None:
    table = table_of(random_answers(7, n=10), 4)
    weight = np.random.default_rng(0).multinomial(table.n_samples, np.full(table.n_samples, 1 / table.n_samples), 3)
    drawn = np.repeat(np.arange(table.n_samples), weight[1])
    task = Task(table.gold[drawn], 4, NUMBERS, "nominal")
    runs = [with_samples(run, drawn) for run in runs_of(table)]
    plain = [figures(run, task) for run in runs]
    for family in measured(table, NUMBERS, "nominal"):
        both = family.resampled(weight.astype(np.float64))
        for k, name in enumerate(family.names):
            for run in (0, 1):
                if name != "consistency":
                    assert both[run][k, 1] == pytest.approx(plain[run][name], abs=1e-9), name
                    continue
                # a sample drawn w times makes w^2 pairs with itself, which are left out; distances are then put back on
                # the scale of the table, whose classes of n have n of n^2 pairs with themselves
                sizes = [(task.gold == gold).sum() for gold in set(task.gold.tolist()) - {-1}]
                n_pairs = sum(size**2 for size in sizes)
                n_distinct = n_pairs - np.square(weight[1][table.gold >= 0]).sum()
                distance = (1 - plain[run][name]) * n_pairs / n_distinct
                own = [(table.gold == gold).sum() for gold in set(table.gold.tolist()) - {-1}]
                self_pairs = sum(own) / np.square(own).sum()
                assert both[run][k, 1] == pytest.approx(1 - (1 - self_pairs) * distance, abs=1e-9)


def test_a_wording_under_two_temperatures_counts_once_and_agrees_within_each() -> None:
    # the original (no temperature) joins both groups; wordings 1 and 2 come up at 0 and at 1, wording 3 at 1 alone
    rng = np.random.default_rng(3)
    asks = [(0, -1), (1, 0), (2, 0), (1, 1), (2, 1), (3, 1)]
    labels = rng.integers(0, 3, (6, 8))
    labels[1:] = np.where(rng.random((5, 8)) < 0.6, labels[0], labels[1:])
    rows = [
        (side, i, variant, temperature, variant == 0, 1, labels[ask, i], -1)
        for side in (0, 1)
        for ask, (variant, temperature) in enumerate(asks)
        for i in range(8)
    ]
    table = table_of([np.array(column) for column in zip(*rows, strict=True)], 4)
    assert table.n_slots == 4
    by_name = {
        family.names[0]: family.resampled(np.ones((1, 8)))[0][0, 0] for family in measured(table, NUMBERS, "nominal")
    }
    groups = [krippendorff_alpha(labels[members].T.tolist(), "nominal") for members in ([0, 1, 2], [0, 3, 4, 5])]
    assert by_name["pss_inter"] == pytest.approx(np.mean(groups))
    share = np.eye(4)[labels]
    p_tau = (share[0] + (share[1] + share[3]) / 2 + (share[2] + share[4]) / 2 + share[5]) / 4
    entropy = -np.where(p_tau > 0, p_tau * np.log(np.maximum(p_tau, 1e-9)), 0).sum(axis=1) / np.log(4)
    assert by_name["sensitivity"] == pytest.approx(entropy.mean())


def test_what_is_in_no_group_counts_for_sensitivity_and_not_for_agreement() -> None:
    # the original, two wordings of a temperature, and two formats beside the sweep, of which no group is made
    rng = np.random.default_rng(5)
    asks = [(0, -1), (1, 0), (2, 0), (3, -2), (4, -2)]
    labels = rng.integers(0, 3, (5, 8))
    rows = [
        (side, i, variant, temperature, variant == 0, 1, labels[variant, i], -1)
        for side in (0, 1)
        for variant, temperature in asks
        for i in range(8)
    ]

    def of(kept: set[int]) -> dict[str, float]:
        columns = [np.array(column) for column in zip(*(row for row in rows if row[2] in kept), strict=True)]
        by_name = measured(table_of(columns, 4), NUMBERS, "nominal")
        return {family.names[0]: family.resampled(np.ones((1, 8)))[0][0, 0] for family in by_name}

    swept, every = of({0, 1, 2}), of({0, 1, 2, 3, 4})
    assert (
        every["pss_inter"] == swept["pss_inter"] == pytest.approx(krippendorff_alpha(labels[:3].T.tolist(), "nominal"))
    )
    assert every["sensitivity"] != swept["sensitivity"]
    assert "pss_inter" not in of({0, 3, 4})
