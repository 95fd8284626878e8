"""Lets SQL call prompt stability on labels as texts, which are numbers at ordinal and interval level."""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import SmallIntegers, SmallLabels, Texts, Words
from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from promptaudit.udfs.stability.prompt_stability import (
    MISSING,
    PseudoValues,
    StabilityRow,
    alpha_pseudo_values,
    prompt_stability,
)
from promptaudit.udfs.stability.ratings import Annotations, annotations_of

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)
"""Parts of the samples whose stability is given besides the stability of the whole."""
FEWEST_OF_A_SHARE = 3
"""With fewer samples alpha is not computed."""
_MOST_KEPT = 64
# Figures of the last tables: a model that always answers with a label has one table under every filter.
_kept: dict[bytes, list[StabilityRow]] = {}


@sql_function("prompt_stability")
def prompt_stability_of_labels(
    sample: SmallIntegers,
    annotator: SmallIntegers,
    family: SmallIntegers,
    replicate: SmallLabels,
    label: Texts,
    level: Level,
    is_balanced: bool,  # noqa: FBT001
    seed: int,
    n_resamples: int,
) -> list[StabilityRow]:
    """Computes every figure of prompt stability of a group. NULL labels are missing, NULL replicates are one replicate.

    Raises:
        ValueError: an unknown level, or labels that are no numbers at ordinal or interval level.
    """
    if not len(sample):
        return []
    codes, numbers = numbered_labels(label, level)
    annotations = annotations_of(sample, annotator, replicate, codes, family)
    if level == "nominal":  # completions and their readings have equal figures where both separate the answers alike
        annotations = annotations.numbered_as_they_come()
    is_cut = is_balanced and not annotations.is_even
    key = _key(annotations, numbers, level, is_cut, seed, n_resamples)
    if key not in _kept:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[key] = prompt_stability(
            annotations, numbers, level, is_balanced=is_cut, seed=seed, n_resamples=n_resamples
        )
    return _kept[key]


@sql_function("prompt_stability_of_all")
def prompt_stability_of_all_labels(
    sample: SmallIntegers, annotator: SmallIntegers, replicate: SmallLabels, label: Texts, level: Level
) -> list[StabilityRow]:
    """Computes the row `all` of `prompt_stability_of_labels`, uncut and not resampled; none below two annotators."""
    if not len(sample):
        return []
    codes, numbers = numbered_labels(label, level)
    return _of_all(annotations_of(sample, annotator, replicate, codes), numbers, level)


def _of_all(annotations: Annotations, numbers: NDArray[np.float64], level: Level) -> list[StabilityRow]:
    return prompt_stability(annotations, numbers, level, is_balanced=False, seed=0, n_resamples=0, is_all_alone=True)


class StabilityOfShare(NamedTuple):
    """The row `all` of a share of the samples."""

    sample_share: float
    pss: float
    pss_low: float
    pss_high: float
    is_degenerate: bool | None
    n_samples: int
    n_annotators: int
    n_annotations: int


@sql_function("prompt_stability_by_share")
def prompt_stability_by_share_of_labels(
    sample: SmallIntegers,
    annotator: SmallIntegers,
    replicate: SmallLabels,
    label: Texts,
    place: SmallIntegers,
    level: Level,
    n_samples: int,
) -> list[StabilityOfShare]:
    """Runs `prompt_stability_of_all` on the first samples, for each of SHARES that has three samples or more.

    Args:
        sample: shape (n,), any codes.
        annotator: shape (n,), any codes.
        replicate: shape (n,), any codes.
        label: shape (n,), as in `prompt_stability`.
        place: shape (n,), the place of the sample among all, from 1.
        level: nominal, ordinal or interval.
        n_samples: the number of all samples.
    """
    if not len(sample):
        return []
    codes, numbers = numbered_labels(label, level)
    found = []
    for share in SHARES:
        last = math.ceil(share * n_samples)
        kept = place <= last
        if last < FEWEST_OF_A_SHARE or not kept.any():
            continue
        annotations = annotations_of(sample[kept], annotator[kept], replicate[kept], codes[kept])
        found += [
            StabilityOfShare(
                share,
                row.pss,
                row.pss_low,
                row.pss_high,
                row.is_degenerate,
                row.n_samples,
                row.n_annotators,
                row.n_annotations,
            )
            for row in _of_all(annotations, numbers, level)
        ]
    return found


@sql_function("alpha_pseudo_values")
def alpha_pseudo_values_of_labels(
    sample: SmallIntegers, annotator: SmallIntegers, replicate: SmallLabels, label: Texts, level: Level
) -> PseudoValues:
    """Computes what each sample of a group adds to alpha, by `alpha_pseudo_values`."""
    if not len(sample):
        return PseudoValues(np.empty(0, np.int64), np.empty(0))
    codes, numbers = numbered_labels(label, level)
    return alpha_pseudo_values(annotations_of(sample, annotator, replicate, codes), numbers, level)


def _key(annotations: Annotations, numbers: NDArray[np.float64], *settings: object) -> bytes:
    # annotations with equal figures share a key: the names of the samples are not part of it
    digest = hashlib.blake2b(repr((annotations.label.shape, settings)).encode())
    for part in (annotations.label, annotations.has_entries, annotations.families, numbers):
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def numbered_labels(label: Words, level: Level) -> tuple[WholeNumbers, NDArray[np.float64]]:
    """Numbers labels: gives each label's place among the ascending numbers.

    Labels that spell one number are one label.
    """
    if level not in LEVELS:
        message = f"prompt_stability: level must be one of {', '.join(LEVELS)}, got {level!r}"
        raise ValueError(message)
    if level == "nominal":
        return label.code, np.zeros(len(label.distinct))
    numbers, place = np.unique([_number(text, level) for text in label.distinct], return_inverse=True)
    # a missing label has the place behind the last
    return np.append(place, MISSING)[label.code], numbers.astype(np.float64)


def _number(text: str, level: Level) -> float:
    # Python also reads blanks, underscores and digits of other scripts, which are refused here
    is_plain = text.isascii() and "_" not in text and text == text.strip()
    try:
        number = float(text) if is_plain else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        message = f"prompt_stability: labels of level {level} must be numbers, got {text!r}"
        raise ValueError(message)
    return number
