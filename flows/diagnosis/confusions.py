"""Labels that are given instead of the gold label, over all wordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flows.diagnosis.material import Unit
from flows.display.encode import encoded_property
from udfs.resampling import t_quantile

LEAST_RATE = 0.05
FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """A gold label and the answer given in its place; low and high are the interval for other samples of the class."""

    model_id: str
    task_id: str
    strategy: str
    gold_label: str
    said: str | None  # None: no label could be read
    rate: float  # mean share of the class's p_tau
    low: float | None
    high: float | None
    n_samples: int  # of the class
    n_samples_with_it: int  # that said it under any wording
    n_samples_mostly: int  # under at least half of the wordings

    @encoded_property
    def stands_out(self) -> bool:
        """Returns whether the interval lies above 5 % of the class's answers and at least three samples said it."""
        return self.low is not None and self.low > LEAST_RATE and self.n_samples_with_it >= FEWEST_SAMPLES


def find_confusions(units: Sequence[Unit]) -> list[Confusion]:
    """Returns every pair of gold label and other answer that occurs, the most frequent first."""
    confusions = []
    for unit in units:
        for gold in np.unique(unit.gold[unit.gold >= 0]).tolist():
            shares = unit.p_tau[unit.gold == gold]
            for answer in np.flatnonzero(shares.any(axis=0)).tolist():
                if answer == gold:
                    continue
                share, n = shares[:, answer], len(shares)
                half = t_quantile(n - 1) * float(np.sqrt(share.var(ddof=1) / n)) if n > 1 else np.nan
                rate = float(share.mean())
                bounds = (None, None) if np.isnan(half) else (max(0.0, rate - half), min(1.0, rate + half))
                confusions.append(
                    Confusion(
                        **unit.names,
                        gold_label=str(unit.labels[gold]),
                        said=unit.labels[answer],
                        rate=rate,
                        low=bounds[0],
                        high=bounds[1],
                        n_samples=n,
                        n_samples_with_it=int((share > 0).sum()),
                        n_samples_mostly=int((share >= 0.5).sum()),  # noqa: PLR2004 - half
                    )
                )
    return sorted(confusions, key=lambda c: (-c.rate, c.task_id, c.strategy, c.model_id, c.gold_label, c.said or ""))
