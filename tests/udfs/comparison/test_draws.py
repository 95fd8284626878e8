"""Exchanges keep what they must keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from promptaudit.udfs.comparison.draws import exchanged_samples, exchanged_variants, resampled_samples


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=9), st.integers(0, 1000))
@settings(max_examples=40)
def test_each_run_keeps_its_number_of_each_kind(strata: list[int], seed: int) -> None:
    stratum = np.array(strata)
    first, second = np.split(exchanged_variants(seed, stratum, 50), 2, axis=1)
    assert set(np.unique([first, second])) <= {0, 1}
    # of a shared wording one goes to each run
    assert ((first + second)[:, stratum == -1] == 1).all()
    for number in range(3):
        # of others as many to the first run as it has slots of the kind
        slots = stratum == number
        assert ((first + second)[:, slots].sum(axis=1) == slots.sum()).all()


def test_shared_wordings_change_places_half_the_time_each_on_its_own() -> None:
    first = exchanged_variants(3, np.full(4, -1), 4000)[:, :4]
    # 16 assignments of 250 each, binomial deviation 15
    _, counts = np.unique(first @ [1, 2, 4, 8], return_counts=True)
    assert len(counts) == 16
    assert np.abs(counts - 250).max() < 80


def test_other_wordings_are_dealt_in_every_way_alike() -> None:
    first = exchanged_variants(3, np.array([0, 0]), 6000)
    # two of four: six ways of 1000 each, deviation 29
    _, counts = np.unique(first @ [1, 2, 4, 8], return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 150


def test_samples_move_in_chunks_and_by_seed() -> None:
    parts = list(exchanged_samples(1, 13, 300_000))  # 3.9 million cells a chunk at most
    assert sum(len(part) for part in parts) == 300_000
    assert {part.shape[1] for part in parts} == {13}
    assert np.abs(parts[0][:4000].mean(axis=0) - 0.5).max() < 0.05
    assert np.array_equal(parts[0], next(exchanged_samples(1, 13, 300_000)))
    assert not np.array_equal(parts[0], next(exchanged_samples(2, 13, 300_000)))


def test_resamples_draw_as_many_as_there_are() -> None:
    (weight,) = resampled_samples(1, 6, 100)
    assert weight.shape == (100, 6)
    assert (weight.sum(axis=1) == 6).all()
