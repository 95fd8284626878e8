"""Finds labels that are given instead of the gold label, over all wordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from promptaudit.query.diagnosis.material import Unit
from promptaudit.system.display.compared import OfUnit, names_of
from promptaudit.system.display.encode import encoded_property
from promptaudit.udfs.two_way import two_way_interval

LEAST_RATE = 0.05
FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion(OfUnit):
    """A gold label and the answer given in its place. low and high bound the interval for other samples of it."""

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
        """Says whether the interval lies above 5 % of the class's answers and at least three samples said it."""
        return self.low is not None and self.low > LEAST_RATE and self.n_samples_with_it >= FEWEST_SAMPLES


def find_confusions(units: Sequence[Unit]) -> list[Confusion]:
    """Lists every pair of gold label and other answer that occurs, the most frequent first."""
    confusions = []
    for unit in units:
        for gold in np.unique(unit.gold[unit.gold >= 0]).tolist():
            shares = unit.p_tau[unit.gold == gold]
            for answer in np.flatnonzero(shares.any(axis=0)).tolist():
                if answer == gold:
                    continue
                share, n = shares[:, answer], len(shares)
                own = two_way_interval(np.arange(n), np.zeros(n, np.int64), share)
                bounds = (None, None) if n == 1 or np.isnan(own.low) else (own.low, own.high)
                confusions.append(
                    Confusion(
                        **names_of(unit),
                        gold_label=str(unit.labels[gold]),
                        said=unit.labels[answer],
                        rate=own.mean,
                        low=bounds[0],
                        high=bounds[1],
                        n_samples=n,
                        n_samples_with_it=int((share > 0).sum()),
                        n_samples_mostly=int((share >= 0.5).sum()),  # noqa: PLR2004 - half
                    )
                )
    return sorted(confusions, key=lambda c: (-c.rate, c.task_id, c.strategy, c.model_id, c.gold_label, c.said or ""))
