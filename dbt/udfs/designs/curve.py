"""Curves of the width of an interval against requests: the least design for each of a ladder of widths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from promptaudit.udfs.designs.search import MOST_SAMPLES, MOST_WORDINGS, full_shapes, least_of
from promptaudit.udfs.designs.variance_components import VarianceComponents
from promptaudit.udfs.designs.widths import (
    Design,
    Kind,
    detectable_difference,
    half_width,
    half_widths,
    least_half_width,
)

LADDER = (2.0, 1.5, 1.0, 0.75, 0.5, 0.35, 0.25)
"""Widths of the curve, as multiples of the run's own."""

WORDINGS = (5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60)
"""Numbers of wordings that are tried."""

MOST_TIMES = 100
"""How many times the run's own samples a design of the curve may have."""

_ROUNDING = 1e-9
"""The run's own design reaches its own width, whatever the order in which its answers were added up."""


@dataclass(frozen=True)
class CurvePoint:
    """A design with what is expected of it."""

    n_samples: int
    n_wordings: int
    n_repetitions: int
    n_requests: int
    width: float
    least_width: float
    detectable_difference: float
    is_this_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """The run that a curve is made from, and what its two nights are tested for.

    Attributes:
        n_samples: N.
        n_wordings: that it asked, near-duplicates among them.
        n_repetitions: asks that most of its cells have.
        n_requests: that were planned.
        is_incomplete: whether each sample was asked under some of the wordings alone.
        n_comparisons: differences that are tested between two nights, at least 1.
        min_effect: the least difference that the audit's card calls one, >= 0.
    """

    n_samples: int
    n_wordings: int
    n_repetitions: int
    n_requests: int
    is_incomplete: bool
    n_comparisons: int
    min_effect: float


def width_curve(
    components: VarianceComponents,
    of_units: VarianceComponents,
    own: OwnRun,
    kind: Kind,
    units_a_sample: int | None = None,
) -> list[CurvePoint]:
    """Returns the run's own point, and the least designs whose intervals are as wide as the ladder's steps.

    The steps are multiples of the width that is expected of the run itself. Each has the fewest requests over 5 to 60 wordings
    (12 numbers of them, for sensitivity from 12 up); it is left out where a hundred times the run's samples do not reach it, and
    where a step before it has the same design. They are full grids. A cell is asked once, for sensitivity as often as by the run.

    Args:
        components: to plan with, one wording a family.
        of_units: of the run's own interval, whose units are families; cells are asked as they were.
        own: the run.
        kind: of the measure.
        units_a_sample: how many of the units of the run's own interval each sample was asked under, 2 or more; None: all.

    Returns:
        The run first, then the wider intervals before the narrower ones; the run alone where nothing varies. `least_width` is
        what 60 wordings leave, whatever the samples.
    """
    least = 2 * least_half_width(components, MOST_WORDINGS)

    def point(design: Design, found: VarianceComponents) -> CurvePoint:
        return CurvePoint(
            n_samples=design.n_samples,
            n_wordings=design.n_wordings,
            n_repetitions=design.n_repetitions,
            n_requests=design.n_requests,
            width=2 * half_width(found, design),
            least_width=least,
            detectable_difference=detectable_difference(
                found, design, n_comparisons=own.n_comparisons, min_effect=own.min_effect
            ),
            is_this_run=False,
        )

    n_units = of_units.n_wordings
    design = Design(
        n_samples=own.n_samples,
        n_wordings=n_units,
        wordings_per_sample=units_a_sample or n_units,
        n_repetitions=own.n_repetitions,
    )
    this_run = replace(
        point(design, of_units),
        n_wordings=own.n_wordings,
        n_requests=own.n_requests,
        is_this_run=True,
    )
    if this_run.width == 0:
        return [this_run]
    most = min(MOST_SAMPLES, MOST_TIMES * own.n_samples)
    half = this_run.width / 2 * (1 + _ROUNDING)
    shapes = full_shapes(kind, [own.n_repetitions if kind == "sensitivity" else 1], WORDINGS)
    designs = [
        least_of(shapes, lambda n, each: half_widths(components, n, each), half * times, most) for times in LADDER
    ]
    return [this_run, *(point(each, components) for each in dict.fromkeys(designs) if each is not None)]
