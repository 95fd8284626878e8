"""Lets SQL call the prompt stability of groups of annotators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.sql.columns import (
    Column,
    all_present,
    doubles,
    draws,
    flattened,
    integers,
    list_array,
    null_for_nan,
    present,
    row_lists,
    values_of,
)
from udfs.stability import prompt_stability as stability
from udfs.stability.krippendorff import LEVELS, Level


def prompt_stability(
    sample: Column,
    annotator: Column,
    family: Column,
    replicate: Column,
    label: Column,
    level: Column,
    is_balanced: Column,
    seed: Column,
    n_resamples: Column,
) -> Column:
    """Returns every figure of prompt stability of each group; NULL labels are missing, NULL replicates are one replicate.

    Raises:
        ValueError: an unknown level, or labels that are no numbers at ordinal or interval level.
    """
    return _stability(
        sample, annotator, family, replicate, label, level, is_balanced, seed, n_resamples, is_all_alone=False
    )


def prompt_stability_of_all(
    sample: Column, annotator: Column, replicate: Column, label: Column, level: Column
) -> Column:
    """Returns the row `all` of `prompt_stability` of each group, uncut and without resamples; none below two annotators."""
    n = len(level)
    uncut, no_draws = pa.array([False] * n), pa.nulls(n, pa.int64())
    return _stability(
        sample, annotator, annotator, replicate, label, level, uncut, no_draws, no_draws, is_all_alone=True
    )


def alpha_pseudo_values(sample: Column, annotator: Column, replicate: Column, label: Column, level: Column) -> Column:
    """Returns what each sample of each group adds to alpha, as `udfs.stability.prompt_stability.alpha_pseudo_values` has it."""
    groups = _groups("alpha_pseudo_values", sample, annotator, annotator, replicate, label, level)
    lists = [stability.PseudoValues(np.empty(0, np.int64), np.empty(0)) if table is None
             else stability.alpha_pseudo_values(*table) for table, _ in groups]  # fmt: skip
    samples = np.concatenate([np.empty(0, np.int64), *(own.sample for own in lists)])
    values = null_for_nan(np.concatenate([np.empty(0), *(own.value for own in lists)]))
    return list_array(
        [own.sample for own in lists], pa.StructArray.from_arrays([pa.array(samples), values], ["sample", "value"])
    )


def _stability(
    sample: Column,
    annotator: Column,
    family: Column,
    replicate: Column,
    label: Column,
    level: Column,
    is_balanced: Column,
    seed: Column,
    n_resamples: Column,
    *,
    is_all_alone: bool,
) -> Column:
    tables: list[list[stability.StabilityRow]] = []
    known: dict[bytes, list[stability.StabilityRow]] = {}
    groups = _groups("prompt_stability", sample, annotator, family, replicate, label, level)
    scalars = zip(values_of(is_balanced), draws(seed, n_resamples), strict=True)
    for (table, families), (balanced, drawn) in zip(groups, scalars, strict=True):
        if table is None:
            tables.append([])
            continue
        is_cut = bool(balanced) and table.is_uneven()
        # a model that always answers with a label has one table under every filter
        key = table.key(families, is_cut, *drawn)
        if key not in known:
            known[key] = stability.prompt_stability(
                *table,
                is_balanced=is_cut,
                seed=drawn[0],
                n_resamples=drawn[1],
                family=families,
                is_all_alone=is_all_alone,
            )
        tables.append(known[key])
    return row_lists(tables, stability.StabilityRow)


def _groups(
    function: str, sample: Column, annotator: Column, family: Column, replicate: Column, label: Column, level: Column
) -> Iterator[tuple[_Table | None, NDArray[np.int64]]]:
    """Yields the labels of each group, None where it has no entry, with the family of each entry."""
    columns = {"sample": sample, "annotator": annotator, "family": family, "replicate": replicate, "label": label}
    entries = flattened(function, columns)
    kept = all_present(entries.lists[:3])
    samples, annotators, families, replicates = (integers(array) for array in entries.lists[:4])
    is_replicate, is_label = present(entries.lists[3]), present(entries.lists[4])
    encoded = entries.lists[4].dictionary_encode()
    # in the order of their spelling, so that draws and ties do not depend on the order of the rows
    order = pc.array_sort_indices(encoded.dictionary)
    spelled = encoded.dictionary.take(order)
    rank = np.argsort(order.to_numpy(zero_copy_only=False))
    labels = np.append(rank, 0)[integers(encoded.indices)] if len(rank) else np.zeros(len(encoded), np.int64)
    for group, own_level in zip(entries.groups(), values_of(level), strict=True):
        own = kept[group]
        if not own.any():
            yield None, families[:0]
            continue
        if own_level not in LEVELS:
            message = f"{function}: level must be one of {', '.join(LEVELS)}, got {own_level!r}"
            raise ValueError(message)
        given = is_label[group][own]
        code = np.full(len(given), stability.MISSING, np.int64)
        code[given], numbers = _numbered(labels[group][own][given], spelled, own_level)
        table = _Table(
            samples[group][own],
            annotators[group][own],
            dense_codes(replicates[group][own], is_replicate[group][own])[0],
            code,
            numbers,
            own_level,
        )
        yield table, families[group][own]


class _Table(NamedTuple):
    """Labels of one group of annotators, an entry each."""

    sample: NDArray[np.int64]
    annotator: NDArray[np.int64]
    replicate: NDArray[np.int64]
    label: NDArray[np.int64]  # MISSING where there is none
    numbers: NDArray[np.float64]
    level: Level

    def is_uneven(self) -> bool:
        """Returns whether annotators of a replicate gave different numbers of labels, so that cutting them evenly cuts any."""
        annotators = dense_codes(self.annotator)[0]
        cells = self.replicate * (annotators.max(initial=0) + 1) + annotators
        counts = np.bincount(cells[self.label != stability.MISSING], minlength=int(cells.max(initial=-1)) + 1)
        return bool(len(np.unique(counts)) > 1)

    def key(self, family: NDArray[np.int64], is_cut: bool, seed: int, n_resamples: int) -> bytes:  # noqa: FBT001 - the parts of a key
        """Returns a key that is equal for tables of equal rows, in whatever order and whatever nominal labels are called."""
        order = np.lexsort((self.replicate, self.annotator, self.sample))
        label = self.label[order]
        if self.level == "nominal":
            _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
            label = np.where(label == stability.MISSING, stability.MISSING, np.argsort(np.argsort(first))[inverse])
        digest = hashlib.blake2b(repr((self.level, is_cut, seed, n_resamples)).encode())
        units = (self.sample[order], self.annotator[order], family[order], self.replicate[order])
        for part in (*units, label, self.numbers):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.digest()


def _numbered(labels: NDArray[np.int64], spelled: Column, level: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Dense codes of the labels and their numbers; labels that spell one number are one label."""
    code, distinct = dense_codes(labels)
    if level == "nominal":
        return code, np.zeros(len(distinct))
    texts = spelled.take(pa.array(distinct))
    try:
        parsed = doubles(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid as error:
        message = f"prompt_stability: labels of level {level} must be numbers: {error}"
        raise ValueError(message) from error
    if not np.isfinite(parsed).all():
        text = texts[int(np.flatnonzero(~np.isfinite(parsed))[0])].as_py()
        message = f"prompt_stability: labels of level {level} must be numbers, got {text!r}"
        raise ValueError(message)
    numbers, position = np.unique(parsed, return_inverse=True)
    return position[code], numbers
