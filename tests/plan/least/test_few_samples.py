"""`promptaudit plan --detect` on data too few for a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import nct, norm, t

from tests.support.planned_answers import PlannedAnswers
from tests.support.shell import Ended, promptaudit
from tests.udfs.designs.worlds import World, components_of

FORTY = "  rephrasing: {rephraser: rules, variants: 10}\n  min_effect: 0.02\n"


def plan(folder: Path, *options: str | float, code: int = 0) -> Ended:
    ended = promptaudit(folder, "plan", "a", "--detect", *map(str, options))
    assert ended.code == code, ended.err
    return ended


def planned(folder: Path, *options: str | float) -> Any:
    return plan(folder, *options, "--json").json()


def found_in_nine_of_ten(difference: float, error: float, free: int, m: int) -> float:
    """How often a t test among m finds a difference."""
    return float(nct.sf(t.ppf(1 - 0.025 / m, free), free, difference / error))


@pytest.fixture
def forty(tmp_path: Path) -> PlannedAnswers:
    return PlannedAnswers(tmp_path, ("calm",), audit=FORTY, n_rows=40)


def test_without_a_run_answers_vary_as_much_as_they_can(forty: PlannedAnswers) -> None:
    few = planned(forty.folder, 0.1)
    assert (few["audit_run_id"], few["measure"], few["n_samples"], few["var_cell"]) == (None, "micro_f1", 40, 0.25)
    assert (few["n_comparisons"], few["min_effect"], few["notes"]) == (8, 0.02, [])
    assert [row["n_wordings"] for row in few["differences"]] == [5, 8, 12, 20, 30, 60]
    for row in few["differences"]:
        q, difference = row["n_wordings"], row["detectable_difference"]
        assert (row["n_samples"], row["n_requests"]) == (40, 40 * q)
        # two nights of 40 q answers of variance 1/4 each
        error = (2 * 0.25 / (40 * q)) ** 0.5
        assert found_in_nine_of_ten(difference, error, 39, 8) == pytest.approx(0.9, abs=1e-6)
        assert difference > 0.02 + norm.ppf(0.9) * error
    # 40 samples whose answers move together are 40 answers
    assert found_in_nine_of_ten(few["if_samples_move"], (2 * 0.25 / 40) ** 0.5, 39, 8) == pytest.approx(0.9)


def test_what_is_printed(forty: PlannedAnswers) -> None:
    lines = plan(forty.folder, 0.1).out.splitlines()
    assert lines[0] == (
        "40 samples are too few for a pilot: micro_f1 with answers that vary as much as they can (variance 0.25 a cell)"
    )
    rows = [row.split() for row in lines[4:]]
    first = next(row for row in rows if float(row[3]) <= 0.1)
    assert lines[1] == (
        f"A difference of 0.1 between two nights is found in about 9 of 10 cases from {first[0]} wordings on, 8 being "
        f"tested and cells changing one by one."
    )
    assert lines[2].startswith(
        "Where a change moves all answers to a sample alike, no number of wordings finds less than 0."
    )
    assert lines[3].split() == ["wordings", "samples", "requests", "difference"]
    assert [row[:3] for row in rows[:2]] == [["5", "40", "200"], ["8", "40", "320"]]
    assert plan(forty.folder, 0.03).out.splitlines()[1] == (
        "A difference of 0.03 between two nights is not found under 60 wordings or fewer, 8 being tested and cells changing one "
        "by one."
    )


@pytest.mark.parametrize("origin", ["run", "import"])
def test_a_run_or_import_of_the_rows_says_what_cells_vary(forty: PlannedAnswers, origin: str) -> None:
    world = World(samples=0.28, wordings=0.03, cells=0.05, mean=0.5)
    answers = forty.add("r1", {"calm": world}, n=40, q=6)["calm"]
    forty.sql(f"update marts.dim_audit_runs set origin = '{origin}'")
    few = planned(forty.folder, 0.1)
    found = components_of(answers)
    assert few["audit_run_id"] == "r1"
    assert few["var_cell"] == pytest.approx(found.of_a_cell(1), rel=0.01)
    assert few["var_cell"] < 0.25
    assert few["differences"][0]["detectable_difference"] < detectable_at_worst(5)
    assert "that vary as in run r1 (variance 0." in plan(forty.folder, 0.1).out


def detectable_at_worst(q: int) -> float:
    error = (2 * 0.25 / (40 * q)) ** 0.5
    return float(next(d for d in np.arange(0.02, 1, 0.001) if found_in_nine_of_ten(d, error, q - 1, 8) >= 0.9))


def test_a_run_that_tells_nothing_of_cells_is_named(forty: PlannedAnswers) -> None:
    forty.add("r1", {"calm": World()}, n=12, q=6)
    few = planned(forty.folder, 0.1)
    assert (few["audit_run_id"], few["var_cell"]) == (None, 0.25)
    (note,) = few["notes"]
    assert note == (
        "run r1 has 12 samples x 6 wordings of task 't' under model 'calm', and what cells vary by needs 20 x 2; cells are taken "
        "to vary as much as they can"
    )


def test_sensitivity_needs_a_run(forty: PlannedAnswers) -> None:
    line = plan(forty.folder, 0.1, "--measure", "sensitivity", code=2).one_line()
    assert line.startswith("DataError: 40 samples are too few for a pilot")
    assert line.endswith("`promptaudit run a`")
    forty.add("r1", {"calm": World()}, n=40, q=6)
    few = planned(forty.folder, 0.5, "--measure", "sensitivity")
    assert (few["audit_run_id"], few["if_samples_move"]) == ("r1", None)
    assert [row["n_wordings"] for row in few["differences"]] == [12, 20, 30, 60]


def test_a_width_of_few_samples_is_no_plan(forty: PlannedAnswers) -> None:
    forty.add("r1", {"calm": World()}, n=40, q=6)
    ended = promptaudit(forty.folder, "plan", "a", "--target-width", "0.2", "--measure", "micro_f1")
    assert (ended.code, "and a plan needs 60 x 8" in ended.one_line()) == (2, True)
