"""The curve of width against requests of one run's answers: of a mean of single answers, and of sensitivity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import are_one_to_one, dense_codes
from promptaudit.udfs.designs.curve import CurvePoint, OwnRun, width_curve
from promptaudit.udfs.designs.search import FEWEST_SAMPLES, FEWEST_WORDINGS
from promptaudit.udfs.designs.variance_components import VarianceComponents, linear_components, sensitivity_components
from promptaudit.udfs.designs.widths import MEASURES_COMPARED
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import BigInt, Codes, Floats, Integers
from promptaudit.udfs.two_way import family_means

FEWEST_WORDINGS_ASKED = 8
"""Wordings of the smallest run that has a curve. What fewer of them vary by is a guess, whatever the samples."""


class GroupOfRun(NamedTuple):
    """What SQL tells of a group of answers: of it, how many groups its run has, and the `min_effect` of its card."""

    n_wordings: BigInt
    n_repetitions: BigInt
    n_requests: BigInt
    is_incomplete: bool
    n_groups: BigInt
    min_effect: float

    def own_run(self, sample: NDArray[np.int64]) -> OwnRun:
        """Returns it as a curve takes it, with dense codes of the samples of its entries."""
        return OwnRun(
            n_samples=int(sample.max(initial=-1)) + 1,
            n_wordings=self.n_wordings,
            n_repetitions=self.n_repetitions,
            n_requests=self.n_requests,
            is_incomplete=self.is_incomplete,
            n_comparisons=MEASURES_COMPARED * self.n_groups,
            min_effect=self.min_effect,
        )


@sql_function("width_curve")
def linear_curve_of(
    sample: Codes, wording: Codes, family: Codes, value: Floats, n_asks: Integers, run: GroupOfRun
) -> list[CurvePoint]:
    """Returns `linear_curve` of a group of answers of a run."""
    return linear_curve(sample, wording, family, value, n_asks, run.own_run(sample))


@sql_function("width_curve_of_sensitivity")
def sensitivity_curve_of(
    sample: Codes, wording: Codes, family: Codes, label: Codes, p: Floats, n_classes: int, run: GroupOfRun
) -> list[CurvePoint]:
    """Returns `sensitivity_curve` of a group of answers of a run; an entry without a label is left out."""
    return sensitivity_curve(sample, wording, family, label, p, n_classes, run.own_run(sample))


def linear_curve(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    family: NDArray[np.int64],
    value: NDArray[np.float64],
    n_asks: NDArray[np.int64],
    own: OwnRun,
) -> list[CurvePoint]:
    """Returns the curve of a measure that is the mean of right (1) and wrong (0) answers.

    Args:
        sample: shape (n,), dense codes.
        wording: shape (n,), dense codes.
        family: shape (n,), dense codes of the wording's family.
        value: shape (n,), in [0, 1], one per (sample, wording): the share right of its asks.
        n_asks: shape (n,), >= 1, how many they are.
        own: the run.

    Returns:
        The run's own point is of its own grid, the others are of full ones. Empty below 20 samples, 8 wordings, or 5 families
        of them, and where too few cells were asked to tell wordings from samples.
    """
    if not _is_enough(sample, wording, family):
        return []
    within = np.broadcast_to(np.nan, len(value))
    if (n_asks > 1).any():
        within = np.where(n_asks > 1, value * (1 - value) * n_asks / np.maximum(n_asks - 1, 1), np.nan)
    is_own = are_one_to_one(wording, family)
    samples, families, means = (sample, wording, value) if is_own else family_means(sample, family, value)
    nothing = np.broadcast_to(np.nan, len(means))  # one figure in memory, as many as there are cells
    try:
        of_units = linear_components(samples, families, means, nothing, np.broadcast_to(1, len(means)))
        components = linear_components(sample, wording, value, within, n_asks, family)
    except ValueError:  # too few cells
        return []
    units = int(np.clip(round(len(means) / own.n_samples), 2, of_units.n_wordings)) if own.is_incomplete else None
    return width_curve(components, of_units, own, "linear", units)


def sensitivity_curve(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    family: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
    own: OwnRun,
) -> list[CurvePoint]:
    """Returns the curve of sensitivity.

    Args:
        sample: shape (n,), dense codes.
        wording: shape (n,), dense codes.
        family: shape (n,), dense codes of the wording's family.
        label: shape (n,), dense codes, N/A being one of them.
        p: shape (n,), share of the wording's answers with the label, above 0.
        n_classes: C.
        own: the run.

    Returns:
        Empty below 20 samples, 8 wordings, 5 families of them, or 2 classes.
    """
    if not _is_enough(sample, wording, family) or n_classes < 2:
        return []
    components = sensitivity_components(sample, wording, label, p, n_classes, family)
    of_units = components
    if components.n_wordings < int(wording.max()) + 1:
        of_units = _of_families(sample, wording, family, label, p, n_classes)
    return width_curve(components, of_units, own, "sensitivity")


def _of_families(
    sample: NDArray[np.int64],
    wording: NDArray[np.int64],
    family: NDArray[np.int64],
    label: NDArray[np.int64],
    p: NDArray[np.float64],
    n_classes: int,
) -> VarianceComponents:
    """Returns the components of the table that has each family as one wording, with the mean shares of its wordings."""
    n_families, n_labels, n_wordings = (int(each.max()) + 1 for each in (family, label, wording))
    cell = sample * n_families + family
    asked = np.unique(cell * n_wordings + wording) // n_wordings
    n_asked = np.bincount(asked, minlength=int(cell.max()) + 1)
    entry, keys = dense_codes(cell * n_labels + label)
    cells, labels = np.divmod(keys, n_labels)
    samples, families = np.divmod(cells, n_families)
    return sensitivity_components(samples, families, labels, np.bincount(entry, weights=p) / n_asked[cells], n_classes)


def _is_enough(sample: NDArray[np.int64], wording: NDArray[np.int64], family: NDArray[np.int64]) -> bool:
    return len(sample) > 0 and bool(
        sample.max() + 1 >= FEWEST_SAMPLES
        and wording.max() + 1 >= FEWEST_WORDINGS_ASKED
        and family.max() + 1 >= FEWEST_WORDINGS
    )
