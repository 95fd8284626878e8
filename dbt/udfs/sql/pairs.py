"""Lets SQL call what is counted of the pairs of samples of one class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.measures import pair_distances as pairs
from udfs.sql.columns import Column, all_present, doubles, flattened, integers, present, row_lists, values_of


def pair_distances(sample: Column, label: Column, p: Column, seed: Column) -> Column:
    """Returns the pairs of each group of samples, counted by similarity; a NULL label is the class N/A."""
    groups = _distributions("pair_distances", sample, label, p)
    seeds = [own or 0 for own in values_of(seed)]
    tables = [pairs.pair_distances(p_tau, own) for (_, p_tau), own in zip(groups, seeds, strict=True)]
    return row_lists(tables, pairs.PairBin)


def sample_pairs(sample: Column, label: Column, p: Column) -> Column:
    """Returns every pair of each group of samples, by the samples' own codes; a NULL label is the class N/A."""
    tables = [
        [
            replace(pair, sample=samples[pair.sample], other_sample=samples[pair.other_sample])
            for pair in pairs.sample_pairs(p_tau)
        ]
        for samples, p_tau in _distributions("sample_pairs", sample, label, p)
    ]
    return row_lists(tables, pairs.SamplePair)


def _distributions(
    function: str, sample: Column, label: Column, p: Column
) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
    """Yields each group's sample codes in ascending order, and the distribution of labels of each."""
    entries = flattened(function, {"sample": sample, "label": label, "p": p})
    kept = all_present([entries.lists[0], entries.lists[2]])
    samples, labels, shares = integers(entries.lists[0]), integers(entries.lists[1]), doubles(entries.lists[2])
    is_label = present(entries.lists[1])
    for group in entries.groups():
        own = kept[group]
        sample_code, distinct = dense_codes(samples[group][own])
        label_code, _ = dense_codes(labels[group][own], is_label[group][own])
        yield distinct.tolist(), pairs.shares_matrix(sample_code, label_code, shares[group][own])
