"""The whole pipeline against a model whose truth is known: every figure within four standard errors of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from promptaudit.udfs.measures.entropy import expected_plug_in_entropy
from tests.support.intervals import outside_in_marts
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

N_SAMPLES, N_VARIANTS = 200, 30
LABELS = ("a", "b", "c", "d", "e")
# worked example 2: six classes with N/A, of which the model uses four; half the samples have the first two exchanged
TRUTHS = ({"a": 0.7, "b": 0.2, "c": 0.05, "d": 0.05}, {"a": 0.2, "b": 0.7, "c": 0.05, "d": 0.05})
Z = 4


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    for kind in ("models", "tasks", "audits", "datasets"):
        (folder / "registry" / kind).mkdir(parents=True)
    samples = ", ".join(f"s{n}: {n % 2}" for n in range(N_SAMPLES))
    truths = ", ".join("{" + ", ".join(f"{k}: {v}" for k, v in truth.items()) + "}" for truth in TRUTHS)
    (folder / "registry/models/known.yml").write_text(
        "known:\n  engine: embedded\n  model: simulated\n  seed: 7\n"
        f"  simulated: {{distributions: [{truths}], samples: {{{samples}}}}}\n"
    )
    (folder / "registry/tasks/letters.yml").write_text(
        f"letters:\n  labels: [{', '.join(LABELS)}]\n  instruction: Say which letter fits the text best.\n"
        "  data: {path: datasets/letters.csv, id: id, input: text, gold_label: gold}\n"
    )
    rows = "".join(f"s{n},text {n},{'ab'[n % 2]}\n" for n in range(N_SAMPLES))
    (folder / "registry/datasets/letters.csv").write_text("id,text,gold\n" + rows)
    (folder / "registry/audits/known.yml").write_text(
        "known:\n  tasks: [letters]\n  models: [known]\n"
        f"  rephrasing: {{rephraser: rules, variants: {N_VARIANTS}}}\n  repetitions: {{original: 10, variants: 2}}\n"
        "  resamples: 200\n"
    )
    (folder / "registry/audits/once.yml").write_text(
        "once:\n  tasks: [letters]\n  models: [known]\n"
        f"  rephrasing: {{rephraser: rules, variants: {N_VARIANTS}}}\n  repetitions: {{original: 1, variants: 1}}\n"
        "  resamples: 20\n"
    )
    ended = promptaudit(folder, "run", "known", "--quiet")
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture(scope="module")
def scorecard(audited: Path) -> dict[str, Any]:
    (row,) = sql(audited, "select * from marts.rpt_audit where audit_id = 'known'")
    return row


def test_every_cell_landed(scorecard: dict[str, Any]) -> None:
    n = N_SAMPLES * (10 + 2 * (N_VARIANTS - 1))
    assert (scorecard["n_planned"], scorecard["n_landed"], scorecard["invalid_rate"]) == (n, n, 0)


def test_every_figure_lies_in_its_interval(audited: Path) -> None:
    assert outside_in_marts(audited / "warehouse/audit.duckdb") == []


def test_p_tau_is_the_declared_distribution(audited: Path) -> None:
    rows = sql(
        audited,
        "select gold_label, label, avg(p_tau) as p, stddev_samp(p_tau) / sqrt(count(*)) as se from marts.fct_p_tau "
        "inner join marts.dim_audit_runs using (audit_run_id) where audit_id = 'known' group by all",
    )
    for row in rows:
        truth = TRUTHS["ab".index(row["gold_label"])].get(row["label"], 0)
        assert abs(row["p"] - truth) <= Z * row["se"] + 1e-12, row


def test_the_expected_plug_in() -> None:
    p = np.array([0.7, 0.2, 0.05, 0.05, 0, 0])
    expected = expected_plug_in_entropy(p, N_VARIANTS, 6)
    assert expected == pytest.approx(0.454926, abs=5e-7)


@pytest.mark.soak  # tests/dbt/test_measures.py has one ask a wording too
def test_sensitivity_of_one_ask_a_wording(audited: Path) -> None:
    ended = promptaudit(audited, "run", "once", "--quiet")
    assert ended.code == 0, ended.err
    (row,) = sql(audited, "select sensitivity, sensitivity_std, n_samples from marts.rpt_audit where audit_id = 'once'")
    assert abs(row["sensitivity"] - 0.454926) < Z * row["sensitivity_std"] / math.sqrt(row["n_samples"] - 1)


def test_sensitivity_of_several_asks(scorecard: dict[str, Any]) -> None:
    # less noise in p_tau, so between the figure of one ask a wording and the entropy of p itself
    assert 0.454926 < scorecard["sensitivity"] < 0.486189
    half = (scorecard["sensitivity_corrected_high"] - scorecard["sensitivity_corrected_low"]) / 2
    assert abs(scorecard["sensitivity_corrected"] - 0.486189) < Z * half / 2.045


def test_alpha(scorecard: dict[str, Any]) -> None:
    within = 1 - sum(p * p for p in TRUTHS[0].values())
    between = 1 - 2 * 0.45**2 - 2 * 0.05**2
    truth = 1 - within / between
    for scope in ("intra", "inter"):
        se = (scorecard[f"pss_{scope}_high"] - scorecard[f"pss_{scope}_low"]) / 3.92
        assert abs(scorecard[f"pss_{scope}"] - truth) < Z * se


def test_micro_f1(scorecard: dict[str, Any]) -> None:
    se = math.sqrt(0.7 * 0.3 / (N_SAMPLES * 2 * N_VARIANTS))
    assert abs(scorecard["micro_f1"] - 0.7) < Z * se


def test_independent_draws_are_noise_and_no_wording_effect(scorecard: dict[str, Any]) -> None:
    assert scorecard["wording_share_low"] < 0 < scorecard["wording_share_high"]
    assert abs(scorecard["wording_share"]) < 0.02
