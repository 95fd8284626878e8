"""Codes are parted into blocks, and no figure depends on how many entries a block has."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs import codes
from promptaudit.udfs.codes import are_one_to_one, blocks_of, dense_codes
from promptaudit.udfs.measures.consistency_rate import consistency_rate
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.two_way import two_way_interval

N_SAMPLES, N_VARIANTS = 60, 9
Table = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


@pytest.mark.parametrize("block", [1, 7, 100, 10_000])
def test_blocks_hold_each_entry_once_and_whole_codes(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "BLOCK", block)
    rng = np.random.default_rng(block)
    code, _ = dense_codes(rng.integers(0, 30, 500))
    entries = np.arange(len(code))
    found = [(of_block, entries[own]) for of_block, own in blocks_of(code)]
    assert np.array_equal(np.sort(np.concatenate([own for _, own in found])), entries)
    assert [of_block.start for of_block, _ in found] == [0, *(of_block.stop for of_block, _ in found[:-1])]
    assert found[-1][0].stop == code.max() + 1
    for of_block, own in found:
        assert (np.diff(own) > 0).all()
        assert set(code[own].tolist()) == set(range(of_block.start, of_block.stop))
        assert len(own) <= block + np.bincount(code).max()


def test_one_to_one() -> None:
    first = np.array([0, 1, 2, 1, 0])
    assert are_one_to_one(first, np.array([2, 0, 1, 0, 2]))
    assert not are_one_to_one(first, np.array([1, 0, 1, 0, 1]))  # two have one
    assert not are_one_to_one(first, np.array([2, 0, 1, 1, 2]))  # one has two


def answers(rng: np.random.Generator, *, is_full: bool) -> Table:
    """Labels of samples under variants, in no order, some cells missing."""
    sample, variant = (each.ravel() for each in np.indices((N_SAMPLES, N_VARIANTS)))
    label = np.where(rng.random(len(sample)) < 0.6, sample % 4, rng.integers(0, 4, len(sample)))
    kept = rng.permutation(len(sample))[: None if is_full else -80]
    return sample[kept], variant[kept], label[kept], np.ones(len(kept))


MEASURES: dict[str, Callable[[Table, NDArray[np.int64]], object]] = {
    "sensitivity": lambda t, family: sensitivity_interval(t[0], t[1], family, *t[2:], n_classes=4),
    "consistency rate": lambda t, family: consistency_rate(t[0], t[1], family, *t[2:]),
    "mean": lambda t, family: two_way_interval(t[0], t[1], (t[2] == t[0] % 4) * 1.0, family),
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize("n_families", [N_VARIANTS, 6])
def test_no_figure_depends_on_the_size_of_a_block(
    measure: str, is_full: bool, n_families: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = answers(np.random.default_rng(7), is_full=is_full)
    family = table[1] % n_families
    at_once = figures(MEASURES[measure](table, family))
    assert len(at_once) > 1
    monkeypatch.setattr(codes, "BLOCK", 50)
    assert figures(MEASURES[measure](table, family)) == pytest.approx(at_once, rel=1e-12, abs=1e-13, nan_ok=True)


def figures(found: object) -> list[float]:
    """Returns all figures of a measure, one after the other."""
    rows = [dataclasses.astuple(point) for point in found] if isinstance(found, list) else [found]
    return [float(figure) for row in rows for figure in row]
