"""From nothing to a planned audit: a pilot, the plan from it, and the run that asks the rest and nothing twice."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from promptaudit.warehouse import Warehouse
from tests.support.shell import promptaudit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

AUDIT = """\
sized:
  tasks: [question_type]
  models: [lexical, lexical_noisy]
  rephrasing: {rephraser: rules, variants: 9}
  repetitions: {original: 3, variants: 2}
  samples: {limit: 64}
  resamples: 100
"""
N_PILOT, N_RUN = 2 * 60 * 8 * 2, 2 * 64 * (3 + 8 * 2)


def test_a_pilot_is_planned_from_and_used(tmp_path: Path) -> None:
    (tmp_path / "registry/audits").mkdir(parents=True)
    (tmp_path / "registry/audits/sized.yml").write_text(AUDIT)
    piloted = promptaudit(tmp_path, "run", "sized", "--pilot", "--quiet", "--json")
    assert piloted.code == 0, piloted.err
    pilot = piloted.json()
    assert (pilot["is_pilot"], pilot["n_asked"], pilot["report"]) == (True, N_PILOT, None)
    before = landed(tmp_path)
    assert len(before) == N_PILOT
    # the pilot is no complete run: nobody takes its answers for a night's
    assert not (tmp_path / "warehouse/published").exists()
    planned = {}
    for measure, width in (("accuracy", "0.25"), ("sensitivity", "0.4")):
        ended = promptaudit(tmp_path, "plan", "sized", "--target-width", width, "--measure", measure, "--json")
        assert ended.code == 0, ended.err
        planned[measure] = ended.json()
    for plan in planned.values():
        assert (plan["is_pilot"], plan["audit_run_id"]) == (True, pilot["audit_run_id"])
        assert {(row["n_samples"], row["n_wordings"]) for row in plan["groups"]} == {(60, 8)}
        assert plan["design"]["width"] <= plan["target_width"]

    again = promptaudit(tmp_path, "run", "sized", "--pilot", "--quiet", "--json").json()
    assert (again["audit_run_id"], again["n_asked"]) == (pilot["audit_run_id"], 0)

    run = promptaudit(tmp_path, "run", "sized", "--quiet", "--json")
    assert run.code == 0, run.err
    assert run.json()["audit_run_id"] == pilot["audit_run_id"]
    assert run.json()["n_asked"] == N_RUN - N_PILOT
    after = landed(tmp_path)
    assert len(after) == N_RUN
    assert before.items() <= after.items()  # the pilot's answers, as they landed
    assert promptaudit(tmp_path, "verify").code == 0

    complete = promptaudit(
        tmp_path, "plan", "sized", "--target-width", "0.25", "--measure", "micro_f1", "--json"
    ).json()
    assert not complete["is_pilot"]
    assert {(row["n_samples"], row["n_wordings"]) for row in complete["groups"]} == {(64, 9)}
    finished = promptaudit(tmp_path, "run", "sized", "--pilot", "--quiet")
    assert "is complete" in finished.out


def landed(folder: Path) -> dict[str, datetime]:
    """When each prediction of the warehouse landed."""
    rows = Warehouse(folder / "warehouse/audit.duckdb").read("select prediction_id, landed_at from raw.predictions")
    return {row["prediction_id"]: row["landed_at"] for row in rows}
