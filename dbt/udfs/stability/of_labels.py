"""Lets SQL call prompt stability: of labels as texts, which are numbers at ordinal and interval level."""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Integers, Labels, Texts, Words
from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from promptaudit.udfs.stability.prompt_stability import (
    MISSING,
    PseudoValues,
    StabilityRow,
    alpha_pseudo_values,
    prompt_stability,
)

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75)
"""Parts of the samples whose stability is told beside that of the whole."""
FEWEST_OF_A_SHARE = 3
"""Samples below which alpha says nothing."""
_MOST_KEPT = 64
_kept: dict[bytes, list[StabilityRow]] = {}
"""Figures of the last tables: a model that always answers with a label has one table under every filter."""


@sql_function("prompt_stability")
def prompt_stability_of_labels(
    sample: Integers,
    annotator: Integers,
    family: Integers,
    replicate: Labels,
    label: Texts,
    level: Level,
    is_balanced: bool,  # noqa: FBT001
    seed: int,
    n_resamples: int,
) -> list[StabilityRow]:
    """Returns every figure of prompt stability of a group; labels that are NULL are missing, NULL replicates are one replicate.

    Raises:
        ValueError: an unknown level, or labels that are no numbers at ordinal or interval level.
    """
    if not len(sample):
        return []
    table = _Table(sample, annotator, replicate, *_numbered(label, level), level).numbered_as_they_come()
    is_cut = is_balanced and table.is_uneven()
    key = table.key(family, is_cut, seed, n_resamples)
    if key not in _kept:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[key] = prompt_stability(*table, is_balanced=is_cut, seed=seed, n_resamples=n_resamples, family=family)
    return _kept[key]


@sql_function("prompt_stability_of_all")
def prompt_stability_of_all_labels(
    sample: Integers, annotator: Integers, replicate: Labels, label: Texts, level: Level
) -> list[StabilityRow]:
    """Returns the row `all` of `prompt_stability_of_labels`, uncut and without resamples; none below two annotators."""
    if not len(sample):
        return []
    table = _Table(sample, annotator, replicate, *_numbered(label, level), level)
    return prompt_stability(*table, is_balanced=False, seed=0, n_resamples=0, is_all_alone=True)


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
    sample: Integers,
    annotator: Integers,
    replicate: Labels,
    label: Texts,
    place: Integers,
    level: Level,
    n_samples: int,
) -> list[StabilityOfShare]:
    """Returns the row of `prompt_stability_of_all` of the first samples, for each of SHARES that has three samples or more.

    Args:
        sample: shape (n,), any codes.
        annotator: shape (n,), any codes.
        replicate: shape (n,), any codes.
        label: shape (n,), as of `prompt_stability`.
        place: shape (n,), of the sample among all, from 1.
        level: nominal, ordinal or interval.
        n_samples: how many there are.
    """
    if not len(sample):
        return []
    codes, numbers = _numbered(label, level)
    found = []
    for share in SHARES:
        last = math.ceil(share * n_samples)
        kept = place <= last
        if last < FEWEST_OF_A_SHARE or not kept.any():
            continue
        table = _Table(sample[kept], annotator[kept], replicate[kept], codes[kept], numbers, level)
        rows = prompt_stability(*table, is_balanced=False, seed=0, n_resamples=0, is_all_alone=True)
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
            for row in rows
        ]
    return found


@sql_function("alpha_pseudo_values")
def alpha_pseudo_values_of_labels(
    sample: Integers, annotator: Integers, replicate: Labels, label: Texts, level: Level
) -> PseudoValues:
    """Returns what each sample of a group adds to alpha, as `alpha_pseudo_values` has it."""
    if not len(sample):
        return PseudoValues(np.empty(0, np.int64), np.empty(0))
    return alpha_pseudo_values(sample, annotator, replicate, *_numbered(label, level), level)


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
        counts = np.bincount(cells[self.label != MISSING], minlength=int(cells.max(initial=-1)) + 1)
        return bool(len(np.unique(counts)) > 1)

    def numbered_as_they_come(self) -> _Table:
        """Returns the table with nominal labels numbered by where each stands first: no draw hangs on what they are called.

        Equal tables of two filters have equal figures then, though one lists completions and the other what they were read as.
        """
        n_codes = int(self.label.max(initial=MISSING)) + 1
        if self.level != "nominal" or not n_codes:
            return self
        first = np.full(n_codes, len(self.label))
        given = self.label[self._order()]
        np.minimum.at(first, given[given != MISSING], np.flatnonzero(given != MISSING))
        # a missing one has the place behind the last
        place = np.append(np.argsort(np.argsort(first, kind="stable")), MISSING)
        return self._replace(label=place[self.label], numbers=np.zeros(int((first < len(self.label)).sum())))

    def key(self, family: NDArray[np.int64], is_cut: bool, seed: int, n_resamples: int) -> bytes:  # noqa: FBT001 - the parts of a key
        """Returns a key that is equal for tables of equal rows, in whatever order."""
        order = self._order()
        digest = hashlib.blake2b(repr((self.level, is_cut, seed, n_resamples)).encode())
        for part in (self.sample, self.annotator, family, self.replicate, self.label):
            digest.update(part[order].data)
        digest.update(np.ascontiguousarray(self.numbers).data)
        return digest.digest()

    def _order(self) -> NDArray[np.int64]:
        return np.lexsort((self.replicate, self.annotator, self.sample))


def _numbered(label: Words, level: Level) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the place of each label among the numbers, and these, ascending; labels that spell one number are one label."""
    if level not in LEVELS:
        message = f"prompt_stability: level must be one of {', '.join(LEVELS)}, got {level!r}"
        raise ValueError(message)
    if level == "nominal":
        return label.code, np.zeros(len(label.distinct))
    numbers, place = np.unique([_number(text, level) for text in label.distinct], return_inverse=True)
    # a missing one has the place behind the last
    return np.append(place, MISSING)[label.code], numbers.astype(np.float64)


def _number(text: str, level: Level) -> float:
    """Returns the number that a text is, without blanks, underscores and digits of other scripts, which Python reads too."""
    is_plain = text.isascii() and "_" not in text and text == text.strip()
    try:
        number = float(text) if is_plain else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        message = f"prompt_stability: labels of level {level} must be numbers, got {text!r}"
        raise ValueError(message)
    return number
