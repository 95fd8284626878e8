"""Lets SQL call the measures of one group of answers: entropy, sensitivity, consistency and their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs import resampling, two_way
from udfs.codes import dense_codes
from udfs.measures import breaking_wordings as breaking
from udfs.measures import by_wordings, consistency, entropy, families, sensitivity, wording_accuracies
from udfs.measures.answer_families import answer_families as of_answers
from udfs.measures.consistency_rate import ConsistencyRate, consistency_rate
from udfs.measures.consistency_wordings import consistency_wordings
from udfs.measures.disagreement import DisagreementShares, disagreement_shares
from udfs.measures.posix import posix_of
from udfs.measures.variation_effects import VariationEffect
from udfs.measures.variation_effects import variation_effects as effects_of
from udfs.measures.variation_kind import Variation
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
    present_groups,
    row_lists,
    structs,
    values_of,
    whole,
)

Shares = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Three dense codes of each entry, and a share."""


def normalised_entropy(p: Column, n_classes: Column) -> Column:
    """Returns the entropy of each list of probabilities over ln C; NULL entries count as absent."""
    entries = flattened("normalised_entropy", {"p": p})
    (values,) = entries.lists
    is_present = present(values)
    lengths = np.bincount(entries.rows()[is_present], minlength=len(entries.offsets) - 1)
    offsets = np.append(0, np.cumsum(lengths))
    classes = integers(whole(n_classes))
    return null_for_nan(entropy.normalised_entropy(doubles(values)[is_present], offsets, classes))


def corrected_sensitivity(variant: Column, label: Column, p: Column, n_classes: Column) -> Column:
    """Returns the corrected sensitivity of each sample; a NULL label is the class N/A."""
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


def wording_families(texts: Column) -> Column:
    """Returns the family of each text of each list, in order; a NULL text is a family of its own."""
    lists = [families.wording_families(own or []) for own in values_of(texts)]
    return list_array(lists, pa.array(np.concatenate([np.empty(0, np.int64), *lists])))


def answer_families(sample: Column, variant: Column, family: Column, label: Column, n_answers: Column) -> Column:
    """Returns the family of each wording of each group by text and answers, and the effective number of wordings.

    A NULL label is the class N/A. Wordings and families bear their own codes.
    """
    columns = {"sample": sample, "variant": variant, "family": family, "label": label, "n_answers": n_answers}
    entries = flattened("answer_families", columns)
    samples, variants, by_text, labels = (integers(array) for array in entries.lists[:4])
    kept, is_label = all_present([*entries.lists[:3], entries.lists[4]]), present(entries.lists[3])
    counts = doubles(entries.lists[4])
    named, found, effective = [], [], []
    for group in entries.groups():
        own = kept[group]
        variant_code, names = dense_codes(variants[group][own])
        result = of_answers(
            dense_codes(samples[group][own])[0],
            variant_code,
            by_text[group][own],
            dense_codes(labels[group][own], is_label[group][own])[0],
            counts[group][own],
        )
        named.append(names)
        found.append(result.family)
        effective.append(np.full(len(names), result.n_effective))
    rows = pa.StructArray.from_arrays(
        [
            *(pa.array(np.concatenate([np.empty(0, np.int64), *codes])) for codes in (named, found)),
            null_for_nan(np.concatenate([np.empty(0), *effective])),
        ],
        ["variant", "family", "n_effective"],
    )
    return list_array(named, rows)


def breaking_wordings(sample: Column, variant: Column, value: Column) -> Column:
    """Returns how often each wording of each group works and whether it breaks; wordings bear their own codes."""
    tables = []
    for samples, variants, values in present_groups(
        "breaking_wordings", {"sample": sample, "variant": variant, "value": value}
    ):
        own, names = dense_codes(variants)
        rows = breaking.breaking_wordings(dense_codes(samples)[0], own, values)
        tables.append([row._replace(variant=code) for row, code in zip(rows, names.tolist(), strict=True)])
    return row_lists(tables, breaking.BrokenWording)


def posix(loglikelihoods: Column) -> Column:
    """Returns the prompt sensitivity index of each sample, of the log-likelihoods of its options under each prompt."""
    lists = values_of(loglikelihoods)
    return null_for_nan([posix_of([text for text in own or [] if text is not None]) for own in lists])


def sensitivity_interval(sample: Column, variant: Column, label: Column, p: Column, n_classes: Column) -> Column:
    """Returns the mean corrected sensitivity of each group of samples with its interval; a NULL label is the class N/A."""
    groups = _coded("sensitivity_interval", {"sample": sample, "variant": variant, "label": label, "p": p})
    classes = integers(whole(n_classes)).tolist()
    rows = [
        sensitivity.sensitivity_interval(samples, variants, labels, shares, n)
        for (samples, variants, labels, shares), n in zip(groups, classes, strict=True)
    ]
    return structs(rows, sensitivity.SensitivityInterval._fields)


def rate_of_agreeing_wordings(sample: Column, variant: Column, family: Column, label: Column, p: Column) -> Column:
    """Returns the consistency rate of each group of samples with its interval; a NULL label is the class N/A."""
    columns = {"sample": sample, "variant": variant, "family": family, "label": label, "p": p}
    return structs([consistency_rate(*group) for group in _coded("consistency_rate", columns)], ConsistencyRate._fields)


def measures_by_wordings(
    gold: Column, sample: Column, variant: Column, label: Column, p: Column, n_classes: Column, seed: Column
) -> Column:
    """Returns each group's measures over fewer of its wordings; a NULL gold is none, a NULL label the class N/A."""
    columns = {"gold": gold, "sample": sample, "variant": variant, "label": label, "p": p}
    entries = flattened("measures_by_wordings", columns)
    golds, samples, variants, labels, shares = entries.lists
    kept = all_present([samples, variants, shares])
    gold_codes = np.where(present(golds), integers(golds), -1)
    codes = [integers(array) for array in (samples, variants, labels)]
    is_label, values = present(labels), doubles(shares)
    rows = []
    scalars = zip(integers(whole(n_classes)).tolist(), values_of(seed), strict=True)
    for group, (n, own_seed) in zip(entries.groups(), scalars, strict=True):
        own = kept[group]
        label_code, _ = dense_codes(codes[2][group][own], is_label[group][own])
        sample_code, variant_code = (dense_codes(each[group][own])[0] for each in codes[:2])
        rows.append(
            by_wordings.measures_by_wordings(
                gold_codes[group][own], sample_code, variant_code, label_code, values[group][own], n, own_seed or 0
            )
        )
    return row_lists(rows, by_wordings.ByWordings)


def consistency_of_classes(
    gold: Column, sample: Column, label: Column, p: Column, seed: Column, n_resamples: Column
) -> Column:
    """Returns the consistency of each group's gold classes, pooled. Entries without gold are left out; a NULL label is N/A."""
    groups = _gold_groups("consistency", gold, sample, label, p).groups
    scalars = zip(groups, draws(seed, n_resamples), strict=True)
    rows = [consistency.consistency(*group, *drawn) for group, drawn in scalars]
    return structs(rows, consistency.Consistency._fields)


def consistency_over_wordings(
    gold: Column, sample: Column, variant: Column, unit: Column, label: Column, p: Column
) -> Column:
    """Returns bounds of each group's pooled consistency for other samples and wordings, as structs of `Interval`.

    Entries without gold are left out; a NULL label is N/A.
    """
    columns = {"gold": gold, "sample": sample, "variant": variant, "unit": unit, "label": label, "p": p}
    rows = [consistency_wordings(*group) for group in _coded("consistency_wordings", columns)]
    return structs(rows, resampling.Interval._fields)


def shares_of_disagreement(
    sample: Column, variant: Column, unit: Column, label: Column, stands_for: Column, n_answers: Column
) -> Column:
    """Returns the shares of wording, noise and item of each group, with their bounds; a NULL label is the class N/A."""
    columns = {
        "sample": sample, "variant": variant, "unit": unit, "label": label, "stands_for": stands_for, "n_answers": n_answers,
    }  # fmt: skip
    rows = [
        disagreement_shares(samples, variants, units, labels, counts, weights)
        for samples, variants, units, labels, weights, counts in _coded("disagreement_shares", columns, n_measured=2)
    ]
    return structs(rows, DisagreementShares._fields)


def variation_effects(
    sample: Column,
    variant: Column,
    label: Column,
    stands_for: Column,
    n_answers: Column,
    kind: Column,
    member: Column,
    line: Column,
    value: Column,
    unit: Column,
) -> Column:
    """Returns what each kind of variation does to the answers of each group; a NULL label is the class N/A.

    The last five are the prompt variants that take part in each kind; a NULL unit is the original's value.
    """
    answers = flattened(
        "variation_effects",
        {"sample": sample, "variant": variant, "label": label, "stands_for": stands_for, "n_answers": n_answers},
    )
    members = flattened(
        "variation_effects", {"kind": kind, "member": member, "line": line, "value": value, "unit": unit}
    )
    samples, variants, labels = (integers(array) for array in answers.lists[:3])
    kept, is_label = all_present([*answers.lists[:2], *answers.lists[3:]]), present(answers.lists[2])
    weights, counts = (doubles(array) for array in answers.lists[3:])
    kinds, named, *parts = (integers(array) for array in members.lists)
    parts[2] = np.where(present(members.lists[4]), parts[2], -1)
    tables = []
    for group, own in zip(answers.groups(), members.groups(), strict=True):
        is_own = kept[group]
        variant_code, known = dense_codes(variants[group][is_own])
        is_known = np.isin(named[own], known)
        own_kinds, own_named = kinds[own][is_known], np.searchsorted(known, named[own][is_known])
        variations = [
            Variation(code, own_named[is_one], *(part[own][is_known][is_one] for part in parts))
            for code in np.unique(own_kinds).tolist()
            for is_one in [own_kinds == code]
        ]
        tables.append(
            effects_of(
                dense_codes(samples[group][is_own])[0],
                variant_code,
                dense_codes(labels[group][is_own], is_label[group][is_own])[0],
                counts[group][is_own],
                weights[group][is_own],
                variations,
            )
        )
    return row_lists(tables, VariationEffect)


def _coded(function: str, columns: dict[str, Column], n_measured: int = 1) -> Iterator[list[NDArray[Any]]]:
    """Yields the complete entries of each group: its last columns as floats, the others as dense codes; a label may be NULL."""
    entries = flattened(function, columns)
    lists = dict(zip(columns, entries.lists, strict=True))
    kept = all_present([array for name, array in lists.items() if name != "label"])
    measured = [doubles(array) for array in entries.lists[-n_measured:]]
    codes = {name: integers(array) for name, array in list(lists.items())[:-n_measured]}
    is_label = present(lists["label"])
    for group in entries.groups():
        own = kept[group]
        yield [
            *(
                dense_codes(each[group][own], is_label[group][own] if name == "label" else None)[0]
                for name, each in codes.items()
            ),
            *(each[group][own] for each in measured),
        ]


def mean_consistency(gold: Column, sample: Column, label: Column, p: Column) -> Column:
    """Returns each group's samples with their mean consistency with the others of their class."""
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


class _GoldGroups(NamedTuple):
    """Groups of (gold, sample, label, p) entries with dense codes, and each group's sample codes."""

    groups: list[Shares]
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


def two_way_interval(sample: Column, variant: Column, family: Column, value: Column, is_incomplete: Column) -> Column:
    """Returns the mean over variants of each group, its spread and its interval, as structs of `TwoWayMean`."""
    columns = {"sample": sample, "variant": variant, "family": family, "value": value}
    rows = []
    groups = zip(present_groups("two_way_interval", columns), values_of(is_incomplete), strict=True)
    for (*units, values), has_gaps in groups:
        samples, variants, own = (dense_codes(each)[0] for each in units)
        rows.append(two_way.two_way_interval(samples, variants, values, own, is_incomplete=bool(has_gaps)))
    return structs(rows, two_way.TwoWayMean._fields)


def accuracies_of_wordings(sample: Column, variant: Column, value: Column) -> Column:
    """Returns the wordings of each group, in order of their codes, with their accuracies."""
    columns = {"sample": sample, "variant": variant, "value": value}
    figures, codes = [], []
    for samples, variants, values in present_groups("wording_accuracies", columns):
        own, names = dense_codes(variants)
        figures.append(np.stack(wording_accuracies.wording_accuracies(dense_codes(samples)[0], own, values)))
        codes.append(names)
    accuracy, shrunk = np.concatenate([np.empty((2, 0)), *figures], axis=1)
    names = np.concatenate([np.empty(0, np.int64), *codes])
    rows = pa.StructArray.from_arrays(
        [pa.array(names), null_for_nan(accuracy), null_for_nan(shrunk)], ["variant", "accuracy", "shrunk"]
    )
    return list_array(codes, rows)


def quantiles_of_wordings(sample: Column, variant: Column, value: Column) -> Column:
    """Returns how accurate the worst, the median and the best wordings of each group are, as structs of `WordingQuantiles`."""
    groups = present_groups("wording_quantiles", {"sample": sample, "variant": variant, "value": value})
    rows = [
        wording_accuracies.wording_quantiles(dense_codes(samples)[0], dense_codes(variants)[0], values)
        for samples, variants, values in groups
    ]
    return structs(rows, wording_accuracies.WordingQuantiles._fields)
