"""Gives the measures to DuckDB under their SQL names: columns in, numpy inside, columns out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb.func import FunctionNullHandling, PythonUDFType
from numpy.typing import NDArray

from udfs import (
    COMPARISON_IDS,
    RUN_IDS,
    comparing,
    consistency,
    entropy,
    judging,
    reading,
    resampling,
    sensitivity,
    stability,
)
from udfs.agreement import LEVELS, Level
from udfs.codes import dense_codes
from udfs.columns import (
    Column,
    all_present,
    doubles,
    doubles_struct,
    flattened,
    integers,
    list_array,
    null_for_nan,
    present,
    structs,
    values_of,
    whole,
)
from udfs.retired import RETIRED_RUNS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_STABILITY_TYPES = {"str": "VARCHAR", "int": "INTEGER", "float": "DOUBLE", "bool | None": "BOOLEAN"}
_STABILITY_COLUMNS = {field.name: _STABILITY_TYPES[str(field.type)] for field in fields(stability.StabilityRow)}
_ARROW_TYPES = {"VARCHAR": pa.string(), "INTEGER": pa.int32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}


def normalised_entropy(p: Column, n_classes: Column) -> Column:
    """Entropy of each list of probabilities over ln C; NULL entries count as absent."""
    entries = flattened("normalised_entropy", {"p": p})
    (values,) = entries.lists
    is_present = present(values)
    lengths = np.bincount(entries.rows()[is_present], minlength=len(entries.offsets) - 1)
    offsets = np.append(0, np.cumsum(lengths))
    classes = integers(whole(n_classes))
    return null_for_nan(entropy.normalised_entropy(doubles(values)[is_present], offsets, classes))


def corrected_sensitivity(variant: Column, label: Column, p: Column, n_classes: Column) -> Column:
    """Corrected sensitivity of each sample; a NULL label is the class N/A."""
    entries = flattened("corrected_sensitivity", {"variant": variant, "label": label, "p": p})
    variants, labels, shares = entries.lists
    kept = all_present([variants, shares])
    return null_for_nan(
        sensitivity.corrected_sensitivity(
            entries.rows()[kept],
            dense_codes(integers(variants)[kept])[0],
            dense_codes(integers(labels)[kept], present(labels)[kept])[0],
            doubles(shares)[kept],
            integers(whole(n_classes)),
        )
    )


def sensitivity_interval(sample: Column, variant: Column, label: Column, p: Column, n_classes: Column) -> Column:
    """Mean corrected sensitivity of each group of samples with its interval; a NULL label is the class N/A."""
    columns = {"sample": sample, "variant": variant, "label": label, "p": p}
    entries = flattened("sensitivity_interval", columns)
    samples, variants, labels, shares = entries.lists
    kept = all_present([samples, variants, shares])
    codes = [integers(array) for array in (samples, variants, labels)]
    is_label, values = present(labels), doubles(shares)
    rows = []
    for group, classes in zip(entries.groups(), integers(whole(n_classes)).tolist(), strict=True):
        own = kept[group]
        rows.append(
            sensitivity.sensitivity_interval(
                dense_codes(codes[0][group][own])[0],
                dense_codes(codes[1][group][own])[0],
                dense_codes(codes[2][group][own], is_label[group][own])[0],
                values[group][own],
                classes,
            )
        )
    return structs(rows, sensitivity.SensitivityInterval._fields)


class _GoldGroups(NamedTuple):
    """Groups of (gold, sample, label, p) entries with dense codes, and each group's sample codes."""

    groups: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]
    samples: list[NDArray[np.int64]]


def _gold_groups(function: str, gold: Column, sample: Column, label: Column, p: Column) -> _GoldGroups:
    entries = flattened(function, {"gold": gold, "sample": sample, "label": label, "p": p})
    kept = all_present([entries.lists[0], entries.lists[1], entries.lists[3]])
    golds, samples, labels = (integers(array) for array in entries.lists[:3])
    is_label, shares = present(entries.lists[2]), doubles(entries.lists[3])
    groups, distinct = [], []
    for group in entries.groups():
        own = kept[group]
        sample_code, sample_codes = dense_codes(samples[group][own])
        label_code, _ = dense_codes(labels[group][own], is_label[group][own])
        groups.append((dense_codes(golds[group][own])[0], sample_code, label_code, shares[group][own]))
        distinct.append(sample_codes)
    return _GoldGroups(groups, distinct)


def consistency_of_classes(
    gold: Column, sample: Column, label: Column, p: Column, seed: Column, n_resamples: Column
) -> Column:
    """Consistency of each group's gold classes, pooled; entries without gold are left out, a NULL label is N/A."""
    groups = _gold_groups("consistency", gold, sample, label, p).groups
    scalars = zip(groups, values_of(seed), values_of(n_resamples), strict=True)
    # without a seed there is nothing to draw from
    rows = [consistency.consistency(*group, s or 0, 0 if s is None else b or 0) for group, s, b in scalars]
    return structs(rows, consistency.Consistency._fields)


def mean_consistency(gold: Column, sample: Column, label: Column, p: Column) -> Column:
    """Each group's samples with their mean consistency with the others of their class."""
    groups, distinct = _gold_groups("mean_consistency", gold, sample, label, p)
    results = [consistency.mean_consistency(*group) for group in groups]
    codes = [samples[result.sample] for samples, result in zip(distinct, results, strict=True)]
    structs = pa.StructArray.from_arrays(
        [
            pa.array(np.concatenate([np.empty(0, np.int64), *codes])),
            null_for_nan(np.concatenate([np.empty(0), *(result.mean_consistency for result in results)])),
        ],
        ["sample", "mean_consistency"],
    )
    return list_array(codes, structs)


def prompt_stability(
    sample: Column,
    annotator: Column,
    replicate: Column,
    label: Column,
    level: Column,
    is_balanced: Column,
    seed: Column,
    n_resamples: Column,
) -> Column:
    """Every figure of prompt stability of each group; NULL labels are missing, NULL replicates are one replicate.

    Raises:
        ValueError: an unknown level, or labels that are no numbers at ordinal or interval level.
    """
    return _stability(sample, annotator, replicate, label, level, is_balanced, seed, n_resamples, is_all_alone=False)


def prompt_stability_of_all(
    sample: Column, annotator: Column, replicate: Column, label: Column, level: Column
) -> Column:
    """The row `all` of `prompt_stability` of each group, uncut and without resamples; an empty list below two annotators."""
    n = len(level)
    uncut, no_draws = pa.array([False] * n), pa.nulls(n, pa.int64())
    return _stability(sample, annotator, replicate, label, level, uncut, no_draws, no_draws, is_all_alone=True)


def _stability(
    sample: Column,
    annotator: Column,
    replicate: Column,
    label: Column,
    level: Column,
    is_balanced: Column,
    seed: Column,
    n_resamples: Column,
    *,
    is_all_alone: bool,
) -> Column:
    columns = {"sample": sample, "annotator": annotator, "replicate": replicate, "label": label}
    entries = flattened("prompt_stability", columns)
    kept = all_present(entries.lists[:2])
    samples, annotators, replicates = (integers(array) for array in entries.lists[:3])
    is_replicate, is_label = present(entries.lists[2]), present(entries.lists[3])
    encoded = entries.lists[3].dictionary_encode()
    # in the order of their spelling, so that draws and ties do not depend on the order of the rows
    order = pc.array_sort_indices(encoded.dictionary)
    spelled = encoded.dictionary.take(order)
    rank = np.argsort(order.to_numpy(zero_copy_only=False))
    labels = np.append(rank, 0)[integers(encoded.indices)] if len(rank) else np.zeros(len(encoded), np.int64)

    tables: list[list[stability.StabilityRow]] = []
    known: dict[bytes, list[stability.StabilityRow]] = {}
    scalars = zip(values_of(level), values_of(is_balanced), values_of(seed), values_of(n_resamples), strict=True)
    for group, (own_level, balanced, own_seed, resamples) in zip(entries.groups(), scalars, strict=True):
        own = kept[group]
        if not own.any():
            tables.append([])
            continue
        if own_level not in LEVELS:
            message = f"prompt_stability: level must be one of {', '.join(LEVELS)}, got {own_level!r}"
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
        draws = (own_seed or 0, 0 if own_seed is None else resamples or 0)
        is_cut = bool(balanced) and table.is_uneven()
        # a model that always answers with a label has one table under every filter
        key = table.key(is_cut, *draws)
        if key not in known:
            known[key] = stability.prompt_stability(
                *table, is_balanced=is_cut, seed=draws[0], n_resamples=draws[1], is_all_alone=is_all_alone
            )
        tables.append(known[key])
    flat = [row for table in tables for row in table]
    arrays = [
        pa.array([getattr(row, name) for row in flat], _ARROW_TYPES[kind], from_pandas=True)
        for name, kind in _STABILITY_COLUMNS.items()
    ]
    return list_array(tables, pa.StructArray.from_arrays(arrays, list(_STABILITY_COLUMNS)))


class _Table(NamedTuple):
    """Labels of one group of annotators, an entry each."""

    sample: NDArray[np.int64]
    annotator: NDArray[np.int64]
    replicate: NDArray[np.int64]
    label: NDArray[np.int64]  # MISSING where there is none
    numbers: NDArray[np.float64]
    level: Level

    def is_uneven(self) -> bool:
        """Whether annotators of a replicate gave different numbers of labels, so that cutting them evenly cuts any."""
        annotators = dense_codes(self.annotator)[0]
        cells = self.replicate * (annotators.max(initial=0) + 1) + annotators
        counts = np.bincount(cells[self.label != stability.MISSING], minlength=int(cells.max(initial=-1)) + 1)
        return bool(len(np.unique(counts)) > 1)

    def key(self, is_cut: bool, seed: int, n_resamples: int) -> bytes:  # noqa: FBT001 - the parts of a key
        """Equal for tables that give equal rows: in whatever order, nominal labels whatever their names."""
        order = np.lexsort((self.replicate, self.annotator, self.sample))
        label = self.label[order]
        if self.level == "nominal":
            _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
            label = np.where(label == stability.MISSING, stability.MISSING, np.argsort(np.argsort(first))[inverse])
        digest = hashlib.blake2b(repr((self.level, is_cut, seed, n_resamples)).encode())
        for part in (self.sample[order], self.annotator[order], self.replicate[order], label, self.numbers):
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


def two_way_interval(sample: Column, variant: Column, value: Column) -> Column:
    """Mean over variants of each group, its spread and its interval."""
    entries = flattened("two_way_interval", {"sample": sample, "variant": variant, "value": value})
    kept = all_present(entries.lists)
    samples, variants = (integers(array) for array in entries.lists[:2])
    values = doubles(entries.lists[2])
    rows = [
        resampling.two_way_interval(
            dense_codes(samples[group][kept[group]])[0],
            dense_codes(variants[group][kept[group]])[0],
            values[group][kept[group]],
        )
        for group in entries.groups()
    ]
    return structs(rows, resampling.TwoWayMean._fields)


def jackknife_half_width(replicate: Column) -> Column:
    """Half-width of the jackknife-t interval of each list of leave-one-out figures."""
    entries = flattened("jackknife_half_width", {"replicate": replicate})
    figures = doubles(entries.lists[0])
    return null_for_nan([resampling.jackknife_half_width(figures[group]) for group in entries.groups()])


def read_answer(completion: Column, reader: Column, labels: Column, refusal_pattern: Column) -> Column:
    """What each completion was read as; text is the one thing here that has no numpy form."""
    rows = zip(*(values_of(column) for column in (completion, reader, labels, refusal_pattern)), strict=True)
    readings = reading.read_answers(list(rows))
    arrays = [
        pa.array([getattr(row, name) for row in readings], pa.string() if name in ("label", "reason") else pa.bool_())
        for name in reading.Reading._fields
    ]
    return pa.StructArray.from_arrays(arrays, list(reading.Reading._fields))


_STABILITY_STRUCT = f"STRUCT({', '.join(f'{name} {kind}' for name, kind in _STABILITY_COLUMNS.items())})"

FUNCTIONS: dict[str, tuple[Callable[..., Column], Sequence[str], str]] = {
    "normalised_entropy": (normalised_entropy, ["DOUBLE[]", "INTEGER"], "DOUBLE"),
    "corrected_sensitivity": (corrected_sensitivity, ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER"], "DOUBLE"),
    "sensitivity_interval": (
        sensitivity_interval,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER"],
        doubles_struct(sensitivity.SensitivityInterval._fields),
    ),
    "consistency": (
        consistency_of_classes,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT", "INTEGER"],
        doubles_struct(consistency.Consistency._fields),
    ),
    "mean_consistency": (
        mean_consistency,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        "STRUCT(sample BIGINT, mean_consistency DOUBLE)[]",
    ),
    "prompt_stability": (
        prompt_stability,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "VARCHAR[]", "VARCHAR", "BOOLEAN", "BIGINT", "INTEGER"],
        f"{_STABILITY_STRUCT}[]",
    ),
    "prompt_stability_of_all": (
        prompt_stability_of_all,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "VARCHAR[]", "VARCHAR"],
        f"{_STABILITY_STRUCT}[]",
    ),
    "two_way_interval": (
        two_way_interval,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(resampling.TwoWayMean._fields),
    ),
    "jackknife_half_width": (jackknife_half_width, ["DOUBLE[]"], "DOUBLE"),
    "read_answer": (
        read_answer,
        ["VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR"],
        "STRUCT(label VARCHAR, is_blank BOOLEAN, is_refusal BOOLEAN, is_read BOOLEAN, reason VARCHAR)",
    ),
    **judging.FUNCTIONS,
    **comparing.FUNCTIONS,
}
"""SQL name: function, parameter types, return type."""


def register(conn: DuckDBPyConnection) -> None:
    """Register every function of `FUNCTIONS` on a connection."""
    for name, (function, parameters, returns) in FUNCTIONS.items():
        conn.create_function(
            name,
            function,
            list(parameters),
            returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=False,
        )


class Plugin(BasePlugin):
    """dbt-duckdb plugin `udfs.plugin`: every connection of dbt knows the measures."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Register the measures, and learn which runs are retired."""
        register(conn)
        self._left_out = {} if _named(RUN_IDS) else _retired(conn)

    def configure_cursor(self, cursor: DuckDBPyConnection) -> None:
        """Tell the macros `in_this_build` and `compared_in_this_build` what the build is about."""
        runs = _named(RUN_IDS)
        if runs:
            cursor.execute(f"set variable audit_run_ids = {_listed(runs)}")
            cursor.execute(f"set variable first_audit_run_id = '{runs[0]}'")
            cursor.execute(f"set variable last_audit_run_id = '{runs[-1]}'")
        for name, ids in self._left_out.items():
            cursor.execute(f"set variable {name} = {_listed(ids)}")
        comparisons = _named(COMPARISON_IDS)
        if comparisons:
            cursor.execute(f"set variable comparison_ids = {_listed(comparisons)}")


def _named(variable: str) -> list[str]:
    """The ids an environment variable lists, in order; none where one of them is no id."""
    ids = sorted(each for each in os.environ.get(variable, "").split(",") if each)
    return ids if all(each.isalnum() for each in ids) else []


def _retired(conn: DuckDBPyConnection) -> dict[str, list[str]]:
    """What a build of all runs leaves out, by session variable; nothing in a warehouse without the table of retirements."""
    known = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'retirements'"
    if not conn.execute(known).fetchall():
        return {}
    runs = [run for (run,) in conn.execute(RETIRED_RUNS).fetchall()]
    if not runs:
        return {}
    of_them = "list_contains($runs, base_run_id) or list_contains($runs, candidate_run_id)"
    found = conn.execute(f"select comparison_id from raw.comparisons where {of_them}", {"runs": runs}).fetchall()  # noqa: S608
    return {"retired_run_ids": runs, "retired_comparison_ids": [each for (each,) in found]}


def _listed(ids: Sequence[str]) -> str:
    return "[" + ", ".join("'" + each.replace("'", "''") + "'" for each in ids) + "]::varchar[]"
