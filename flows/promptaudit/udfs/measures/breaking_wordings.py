"""Finds wordings that break: under them far fewer answers are right, or agree with the others, than elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from promptaudit.udfs.resampling import t_quantile
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Codes, Floats
from promptaudit.udfs.two_way_fit import two_way_fit

FEWEST = 4
"""With fewer wordings than this, none is said to break."""

MOST_KEPT = 0.6
"""A wording that breaks keeps at most this part of the others' working rate."""

LEAST_GAP = 0.2
"""A wording that breaks lies at least this far below the others' working rate."""

_TAIL = 0.05  # over all wordings of a group
_MOST = 4  # one wording in so many may break


class BrokenWording(NamedTuple):
    """The working rate of a wording, the mean rate of the other wordings that do not break, and whether it breaks."""

    variant: int
    rate: float
    of_others: float
    is_breaking: bool


@sql_function(own_codes={"variant": "variant"})
def breaking_wordings(sample: Codes, variant: Codes, value: Floats) -> list[BrokenWording]:
    """Computes how often each wording works, and whether it works so much less than the others that it breaks.

    The search goes from the worst quarter of the wordings inwards. The k worst break, for the largest k for which three
    things hold of the k-th worst: its rate is at most MOST_KEPT of the mean of the Q - k others; it lies LEAST_GAP or
    more below that mean; and on the logit scale it lies below it by t_{Q-k-1}, at .05 over Q, times sqrt(s^2 (1 + 1 /
    (Q - k))). s^2 is the variance of the others, and at least what chance adds to a wording. In this way two wordings
    that break do not hide each other.

    Args:
        sample: shape (n,), dense codes.
        variant: shape (n,), dense codes.
        value: shape (n,), in [0, 1], one per (sample, variant): the share right, or without gold labels the share of
            answers that the other wordings give too. Missing cells are left out; rates come from the two-way fit.

    Returns:
        One row a wording, in order of its code; with fewer than FEWEST none breaks. `of_others` is NaN for a single
        wording.

    At 100 x 12, in worlds of accuracy .75, a wording that breaks .7 of its cells was found in 250 of 250 where the
    other wordings have a deviation of up to .3 on the logit scale, and in .94 where it is .6. A sound wording was said
    to break in 0 to .02 of these worlds, and in .04 where the deviation is 1.

    Source:
        Rosner 1983 for several outliers, from the inside out.

    Example:
        Of five wordings the last is answered wrongly in all of 40 samples:

        >>> right = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 40)
        >>> found = breaking_wordings(np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40), right)
        >>> [wording.variant for wording in found if wording.is_breaking]
        [4]
    """
    if len(value) == 0:
        return []
    fit = two_way_fit(sample, variant, value)
    rate = np.clip(fit.mean + fit.effects, 0, 1)
    n, n_samples = len(rate), len(fit.by_sample)
    # never 0 or 1, which have no logit
    on_logit = logit((n_samples * rate + 0.5) / (n_samples + 1))
    order = np.argsort(rate, kind="stable")
    n_broken = 0
    for k in range(max(1, n // _MOST) if n >= FEWEST else 0, 0, -1):
        of_others, own = float(rate[order[k:]].mean()), float(rate[order[k - 1]])
        others = on_logit[order[k:]]
        by_luck = fit.effect_noise / max(of_others * (1 - of_others), 0.5 / n_samples) ** 2
        spread = max(float(others.var(ddof=1)), by_luck)
        # chance alone exceeds this distance from the others' mean in one of 1 / _TAIL groups
        by_chance = t_quantile(n - k - 1, _TAIL / n) * np.sqrt(spread * (1 + 1 / (n - k)))
        is_far = float(others.mean()) - float(on_logit[order[k - 1]]) >= by_chance
        if own <= MOST_KEPT * of_others and of_others - own >= LEAST_GAP and is_far:
            n_broken = k
            break
    is_broken = np.zeros(n, np.bool_)
    is_broken[order[:n_broken]] = True
    rows = []
    for code in range(n):
        others = rate[~is_broken & (np.arange(n) != code)]
        rows.append(
            BrokenWording(
                variant=code,
                rate=float(rate[code]),
                of_others=float(others.mean()) if len(others) else np.nan,
                is_breaking=bool(is_broken[code]),
            )
        )
    return rows
