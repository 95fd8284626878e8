"""Decides at the looks of a run whether a rule of its gate is certain enough to ask no further samples.

A run asks its samples in a seeded order, in N_LOOKS equal batches, all wordings of a batch before the next. After each batch
but the last it looks at the scorecard of the samples asked so far. What it concludes there has to hold by more than what it
concludes from all of them, so that five looks err hardly more often than one.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from udfs.designs import N_LOOKS
from udfs.resampling import FEWEST_BEARING, UNDEFINED, Interval, t_quantile

FEWEST_SAMPLES = 20
"""Below so many samples no look decides anything."""

Scale = Literal["plain", "rate", "log_complement"]
"""How an interval is widened: as it is; as that of a mean over samples of figures in [0, 1]; on ln(1 - x), as PSS has it."""

Operator = Literal["<", "<=", ">", ">="]
Part = Literal["figure", "low", "high"]
"""What a rule limits: a figure, or one of its bounds."""

_CRITICAL = 2.040
_NORMAL_QUANTILE = 1.96


class Look(NamedTuple):
    """The interval of a figure at a look, widened, and whether a rule holds: None where more samples have to tell."""

    low: float
    high: float
    passes: bool | None


def critical_value(look: int) -> float:
    """Returns c_k = 2.040 sqrt(K / k) of look k: a two-sided test that exceeds it at any of five looks errs in .05.

    Raises:
        ValueError: a look that is not one of 1 to N_LOOKS.

    Source:
        O'Brien and Fleming 1979.
    """
    if not 1 <= look <= N_LOOKS:
        message = f"look must be 1 to {N_LOOKS}, got {look}"
        raise ValueError(message)
    return float(_CRITICAL * np.sqrt(N_LOOKS / look))


def widening(look: int) -> float:
    """Returns by how much the half-width of a 95 % interval grows at look k: c_k / 1.96, and 1 at the last look.

    The last look concludes what a run without looks would. Raises as `critical_value`.
    """
    critical = critical_value(look)
    return 1.0 if look == N_LOOKS else critical / _NORMAL_QUANTILE


def scale_of(measure: str) -> Scale:
    """Returns the scale of a measure of the scorecard."""
    if measure.startswith("pss"):
        return "log_complement"
    return "rate" if measure in ("micro_f1", "invalid_rate") else "plain"


def bounds_at(
    look: int, estimate: float, low: float, high: float, *, n_samples: int, scale: Scale = "plain"
) -> Interval:
    """Returns an interval of the scorecard, widened on each side of its estimate by the look's `widening`.

    A rate that fewer than 20 samples bear, n min(x, 1 - x) < 20, is held to have one more sample, of 1 for the upper bound
    and of 0 for the lower one: x -+ h moves to x + a (1 - x) + f sqrt(h^2 + (t a (1 - x))^2) with a = 1/(n + 1), f the
    widening and t of n - 1 degrees of freedom, and likewise below. Where errors are rare the first batches often have none
    or few, and what was seen of them tells too little of what they vary. Measured, the lowest limit on the upper bound
    that a model ought not to meet: it passes in .097 without looks, .186 with looks that widen alone, .097 so (recorded
    answers, 500 samples x 30 wordings, 1 % invalid); .060, .128, .060 (30 x 6, 3 %), .062, .087, .067 (100 x 12, 10 % of
    samples all wrong). For other measures, and for rates that more samples bear, widening alone leaves that chance within
    .01 of what it is without looks; within .02 for consistency (.03) and the upper bound of PSS (.03 to .09).

    Args:
        look: 1 to N_LOOKS.
        estimate: the figure that the bounds lie around, which is `sensitivity_corrected` for sensitivity.
        low: of the 95 % interval at the look, NaN where undefined.
        high: likewise.
        n_samples: that were measured up to the look.
        scale: `rate` is clipped to [0, 1], `log_complement` to [-1, 1].

    Returns:
        The bounds as they are at the last look. NaN for undefined bounds, and before the last look below 20 samples. On
        `log_complement` a bound of 1 stays; where the estimate is 1, and has no ln, the lower bound moves as that of one
        disagreeing sample would, whose ln(1 - x) has a standard error of 1.

    Raises:
        ValueError: a look that is not one of 1 to N_LOOKS.
    """
    factor = widening(look)
    if look == N_LOOKS:
        return Interval(low, high)
    if n_samples < FEWEST_SAMPLES or np.isnan([estimate, low, high]).any():
        return UNDEFINED
    if scale == "log_complement":
        return Interval(_log_bound(look, estimate, low), _log_bound(look, estimate, high))
    if scale == "plain":
        return Interval(estimate - factor * (estimate - low), estimate + factor * (high - estimate))
    has_few = n_samples * min(estimate, 1 - estimate) < FEWEST_BEARING
    below, above = ((room / (n_samples + 1) if has_few else 0.0) for room in (estimate, 1 - estimate))
    return Interval(
        max(0.0, estimate - below - factor * float(np.hypot(estimate - low, t_quantile(n_samples - 1) * below))),
        min(1.0, estimate + above + factor * float(np.hypot(high - estimate, t_quantile(n_samples - 1) * above))),
    )


def _log_bound(look: int, estimate: float, bound: float) -> float:
    if bound in (estimate, 1):
        return bound
    if estimate == 1:
        further = (1 - bound) * np.exp(critical_value(look) - _NORMAL_QUANTILE)
    else:
        further = (1 - estimate) * ((1 - bound) / (1 - estimate)) ** widening(look)
    return float(max(-1.0, 1 - further))


def rule_at(
    look: int,
    estimate: float,
    low: float,
    high: float,
    *,
    n_samples: int,
    part: Part,
    operator: Operator,
    limit: float,
    scale: Scale = "plain",
    figure: float | None = None,
) -> Look:
    """Returns whether one row of the scorecard meets a rule of a gate, as far as a look can tell.

    Before the last look `x_high <= limit`, `x_low <= limit` and `x <= limit` alike pass where the whole widened interval of x
    is within the limit and fail where the whole of it is beyond. At the last look the part that the rule names is held
    against the limit.

    Args:
        look: 1 to N_LOOKS.
        estimate: the figure that the bounds lie around.
        low: of its 95 % interval at the look, NaN where undefined.
        high: likewise.
        n_samples: as of `bounds_at`.
        part: what the rule names: the figure, or its lower or upper bound.
        operator: of the rule.
        limit: of the rule.
        scale: as of `bounds_at`.
        figure: of a rule on a figure that is not the estimate, as published sensitivity: the interval moves to where it is.
            None where it is.

    Returns:
        `passes` is None where an undefined bound, or at the last look an undefined part, leaves nothing to compare, and before
        the last look where an interval has no width: nothing is known of what other samples would say.

    Raises:
        ValueError: a look that is not one of 1 to N_LOOKS.
    """
    bounds = bounds_at(look, estimate, low, high, n_samples=n_samples, scale=scale)
    own = estimate if figure is None else figure
    if part == "figure":
        bounds = Interval(bounds.low + (own - estimate), bounds.high + (own - estimate))
    if look == N_LOOKS:
        named = {"figure": own, "low": bounds.low, "high": bounds.high}[part]
        return Look(*bounds, None if np.isnan(named) else _meets(named, operator, limit))
    if np.isnan(bounds).any() or low == high:
        return Look(*bounds, None)
    is_within = [_meets(bound, operator, limit) for bound in bounds]
    return Look(*bounds, is_within[0] if is_within[0] == is_within[1] else None)


def _meets(value: float, operator: Operator, limit: float) -> bool:
    if operator in ("<", "<="):
        return value < limit or (operator == "<=" and value == limit)
    return value > limit or (operator == ">=" and value == limit)
