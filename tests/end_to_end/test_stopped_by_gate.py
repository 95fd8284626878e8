"""Runs that stop where the rules of their gate are decided: who is asked no further, who goes on, and what the gate says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.http_audit import query
from tests.support.shell import promptaudit, sql
from udfs.designs.stopping import N_LOOKS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

N_SAMPLES, N_WORDINGS = 60, 6
N_CELLS = N_SAMPLES * N_WORDINGS
CARD = f"""\
gated:
  tasks: [question_type]
  models: [MODELS]
  strategies: [detail]
  rephrasing: {{rephraser: rules, variants: {N_WORDINGS}}}
  repetitions: {{original: 1, variants: 1}}
  samples: {{limit: {N_SAMPLES}}}
  stop: gate
  resamples: 100
  gate: [RULES]
"""


def write_card(folder: Path, models: str, *rules: str) -> None:
    (folder / "registry/audits").mkdir(parents=True, exist_ok=True)
    (folder / "registry/audits/gated.yml").write_text(
        CARD.replace("MODELS", models).replace("RULES", ", ".join(f'"{rule}"' for rule in rules))
    )


def n_landed(folder: Path) -> dict[str, int]:
    rows = sql(folder, "select model_id, n_planned, n_landed from marts.rpt_audit")
    assert all(row["n_planned"] == row["n_landed"] for row in rows)
    return {row["model_id"]: row["n_landed"] for row in rows}


def looks(folder: Path) -> list[tuple[Any, ...]]:
    """Model, look, decision and whether it stopped, of each look."""
    return query(
        folder / "warehouse/audit.duckdb",
        "select model_id, look, decision, is_stopped from raw.looks order by model_id, look",
    )


def test_a_run_whose_rules_pass_stops_and_passes(tmp_path: Path) -> None:
    write_card(
        tmp_path,
        "lexical, random",
        "micro_f1_low >= 0.2 at model_id = lexical",
        "micro_f1_high <= 0.8 at model_id = random",
    )
    ended = promptaudit(tmp_path, "nightly", "gated", "--json")
    assert ended.code == 0, ended.err
    asked = n_landed(tmp_path)
    assert max(asked.values()) < N_CELLS
    assert ended.json()["run"]["n_asked"] == sum(asked.values())
    for model in asked:
        own = [row for row in looks(tmp_path) if row[0] == model]
        assert own[-1][2:] == ("passed", True)
        assert own[-1][1] * N_CELLS // N_LOOKS == asked[model]
        assert not any(row[3] for row in own[:-1])
    assert promptaudit(tmp_path, "check", "gated").code == 0
    again = promptaudit(tmp_path, "run", "gated")
    assert "nothing asked" in again.out
    page = (tmp_path / "warehouse/published/report.html").read_text(encoding="utf-8")
    assert "stopped" in page


def test_a_rule_that_fails_stops_its_model_while_others_go_on(tmp_path: Path) -> None:
    """The noisy model goes on, and with it the one whose answers it perturbs, though its own rule is decided."""
    write_card(
        tmp_path, "lexical, lexical_noisy, random", "micro_f1_low >= 0.2 at model_id = lexical",
        "micro_f1_low >= 0.6 at model_id = lexical_noisy", "micro_f1_low >= 0.6 at model_id = random",
    )  # fmt: skip
    ended = promptaudit(tmp_path, "nightly", "gated", "--json")
    assert ended.code == 1, ended.err
    asked = n_landed(tmp_path)
    assert asked["random"] < asked["lexical"] == asked["lexical_noisy"]
    own = {model: [row for row in looks(tmp_path) if row[0] == model] for model in asked}
    assert own["random"][-1][2:] == ("failed", True)
    assert ("lexical", own["random"][-1][1], "passed", False) in own["lexical"]
    unperturbed = sql(
        tmp_path,
        "select count(*) as n from raw.predictions as noisy anti join raw.predictions as base "
        "on base.model_id = 'lexical' and noisy.prompt_variant_id = base.prompt_variant_id "
        "and noisy.sample_id = base.sample_id and noisy.repetition = base.repetition "
        "where noisy.model_id = 'lexical_noisy'",
    )
    assert unperturbed == [{"n": 0}]
    checked = promptaudit(tmp_path, "check", "gated", "--json")
    assert checked.code == 1
    outcomes = {rule["rule"]: rule["outcome"] for rule in checked.json()["rules"]}
    assert outcomes["micro_f1_low >= 0.6 at model_id = random"] == "failed"
    assert outcomes["micro_f1_low >= 0.2 at model_id = lexical"] == "passed"
