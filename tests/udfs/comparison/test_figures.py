"""Figures of runs put together anew, against the same runs measured plainly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.udfs.comparison.plain_runs import Task, figures, random_answers, runs_of, table_of, with_rows_of
from udfs.agreement import Level
from udfs.comparison.measured import measured

NUMBERS = np.array([0.5, 1.0, 4.0])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("redrawn", [False, True])
@pytest.mark.parametrize("awkward", [False, True])
def test_exchanged_rows_and_variants_as_measured_plainly(level: Level, *, redrawn: bool, awkward: bool) -> None:
    n_classes = len(NUMBERS) + 1
    table = table_of(random_answers(5, redrawn=redrawn, awkward=awkward), n_classes)
    task = Task(table.gold, n_classes, NUMBERS, level)
    runs = runs_of(table)
    rng = np.random.default_rng(0)
    moves = rng.integers(0, 2, (4, table.n_samples)).astype(np.float64)
    units = [*runs[0], *runs[1]]
    chosen = np.zeros((4, len(units)))
    for row in chosen:
        row[rng.permutation(len(units))[: table.n_slots]] = 1
    seen = set()
    for family in measured(table, NUMBERS, level):
        by_rows = family.exchanged(moves)
        by_units = family.dealt(chosen) if family.n_units else None
        for draw in range(4):
            swapped = moves[draw].astype(np.bool_)
            plain_rows = (
                figures(with_rows_of(runs[0], runs[1], swapped), task),
                figures(with_rows_of(runs[1], runs[0], swapped), task),
            )
            dealt = [
                [unit for unit, is_first in zip(units, chosen[draw], strict=True) if is_first == k] for k in (1, 0)
            ]
            plain_units = [figures(run, task) for run in dealt] if by_units else []
            for k, name in enumerate(family.names):
                seen.add(name)
                for run in (0, 1):
                    assert by_rows[run][k, draw] == pytest.approx(plain_rows[run][name], abs=1e-9), (name, "rows")
                    if by_units:
                        assert by_units[run][k, draw] == pytest.approx(plain_units[run][name], abs=1e-9), (
                            name,
                            "units",
                        )
    assert seen == {"sensitivity", "consistency", "micro_f1", "invalid_rate", "pss_intra", "pss_inter"}
