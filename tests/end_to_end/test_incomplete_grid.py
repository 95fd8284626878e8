"""An audit that asks each sample under some of its wordings: what is planned, asked, measured, shown, compared and tried."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_audit import AUDIT, write_cards
from tests.support.nights_cut_short import LIMITS, kept, killed_between_answers
from tests.support.provider_server import running_provider
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

KEY = "sk-test-0123456789abcdef0123456789abcdef"
CARD = """\
part:
  tasks: [question_type]
  models: [lexical, annotator]
  strategies: [detail]
  rephrasing: {rephraser: rules, variants: 8}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 60}
  design: {wordings_per_sample: 3}
  resamples: 200
"""
MODEL = "annotator: {{engine: embedded, model: noisy, of: lexical, rate: {rate}}}\n"
N_SAMPLES, N_WORDINGS, PER_SAMPLE = 60, 8, 3
N_CELLS = N_SAMPLES * PER_SAMPLE
NEEDS_ALL = ("sensitivity", "consistency", "wording_share", "noise_share", "item_share")


def write_model(folder: Path, rate: float) -> None:
    (folder / "registry/models/annotator.yml").write_text(MODEL.format(rate=rate))


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Two nights, and their runs; in the second one of the models answers much worse."""
    folder = tmp_path_factory.mktemp("part")
    for kind in ("audits", "models"):
        (folder / "registry" / kind).mkdir(parents=True)
    (folder / "registry/audits/part.yml").write_text(CARD)
    runs = []
    for rate in (0.05, 0.5):
        write_model(folder, rate)
        ended = promptaudit(folder, "nightly", "part", "--new", "--json")
        assert ended.code == 0, ended.err
        assert ended.json()["run"]["n_asked"] == 2 * N_CELLS
        runs.append(ended.json()["audit_run_id"])
    return folder, runs


def scorecards(nights: tuple[Path, list[str]]) -> list[dict[str, Any]]:
    return sql(nights[0], f"select * from marts.rpt_audit where audit_run_id = '{nights[1][0]}' order by model_id")


def test_as_much_is_asked_as_was_planned(nights: tuple[Path, list[str]]) -> None:
    folder, (first, _) = nights
    planned = promptaudit(folder, "plan", "part", "--json")
    assert planned.json()["total"]["requests"] == 2 * N_CELLS
    assert {(row["n_planned"], row["n_landed"]) for row in scorecards(nights)} == {(N_CELLS, N_CELLS)}
    asked = sql(
        folder,
        "select model_id, sample_id, count(distinct prompt_variant_id) as n_wordings, count(*) as n "
        f"from raw.predictions where audit_run_id = '{first}' group by all",
    )
    assert {(row["n_wordings"], row["n"]) for row in asked} == {(PER_SAMPLE, PER_SAMPLE)}
    assert len(asked) == 2 * N_SAMPLES
    (design, _) = sql(folder, f"select * from marts.dim_designs where audit_run_id = '{first}' order by model_id")
    assert design["wordings_per_sample"] == PER_SAMPLE
    assert (design["n_planned"], design["n_cells_of_grid"]) == (N_CELLS, N_SAMPLES * N_WORDINGS)


def test_what_needs_all_wordings_is_null_and_the_rest_has_intervals(nights: tuple[Path, list[str]]) -> None:
    for row in scorecards(nights):
        assert {name: row[name] for name in NEEDS_ALL} == dict.fromkeys(NEEDS_ALL)
        assert row["micro_f1_low"] < row["micro_f1"] < row["micro_f1_high"]
        assert row["pss_inter_low"] < row["pss_inter"] < row["pss_inter_high"]
        assert row["n_variants"] == N_WORDINGS
    spreads = sql(nights[0], f"select * from marts.fct_scoring_sensitivity where audit_run_id = '{nights[1][0]}'")
    assert len(spreads) == 2
    for row in spreads:
        low, high = row["accuracy_std_corrected_low"], row["accuracy_std_corrected_high"]
        assert low <= row["accuracy_std_corrected"] <= high


def test_two_nights_are_compared_by_what_both_measure(nights: tuple[Path, list[str]]) -> None:
    folder, (first, second) = nights
    rows = sql(
        folder,
        "select model_id, measure, verdict, reason, difference from marts.rpt_run_comparisons "
        f"where base_run_id = '{first}' and candidate_run_id = '{second}'",
    )
    found = {(row["model_id"], row["measure"]): row for row in rows}
    assert found["annotator", "micro_f1"]["verdict"] == "unconfirmed"  # of two nights
    assert found["annotator", "micro_f1"]["difference"] < -0.2
    assert found["lexical", "micro_f1"]["verdict"] == "none_shown"
    for model in ("annotator", "lexical"):
        of_all = found[model, "sensitivity"]
        assert of_all["verdict"] == "not_comparable"
        assert "some of" in of_all["reason"]


def test_the_page_says_which_part_was_asked(nights: tuple[Path, list[str]]) -> None:
    folder, (first, second) = nights
    for run in (first, second):
        ended = promptaudit(folder, "report", run, "--json")
        assert ended.code == 0, ended.err
        page = (folder / ended.json()["report"]).read_text(encoding="utf-8")
        assert f"{PER_SAMPLE} of {N_WORDINGS} prompt variants" in page
        assert "this needs every sample under all of them" in page  # in place of each chart that does
        assert "nan" not in re.sub("<[^>]*>", " ", page.lower()).split()


@pytest.mark.soak
def test_figures_are_derived_again_from_their_answers(nights: tuple[Path, list[str]]) -> None:
    folder, (first, _) = nights
    columns = ("micro_f1_low", "pss_inter")
    names = promptaudit(folder, "report", first, "--format", "csv").out
    digits = next(line for line in names.splitlines() if "rpt_audit.micro_f1." in line and "annotator" in line)
    digits = digits.split("rpt_audit.micro_f1.")[1].split(",")[0].split('"')[0]
    figures = [f"rpt_audit.{column}.{digits}" for column in columns]
    traced = promptaudit(folder, "trace", *figures, "--recompute")
    assert traced.code == 0, traced.out + traced.err
    assert traced.out.count(", the same") == len(figures)
    assert promptaudit(folder, "verify").code == 0


def test_the_other_questions_have_figures_or_one_clear_line(nights: tuple[Path, list[str]]) -> None:
    folder, runs = nights
    told = promptaudit(folder, "diagnose", "part", "--model", "annotator")
    assert told.code == 0, told.err
    assert "nan" not in told.out.lower()
    history = promptaudit(folder, "history", "micro_f1", "--audit", "part", "--model", "lexical", "--json")
    assert history.code == 0, history.err
    assert [night["audit_run_id"] for night in history.json()["nights"]] == runs
    without = promptaudit(folder, "history", "sensitivity", "--audit", "part")
    assert without.code in (0, 2), without.err
    assert "Traceback" not in without.err

    (sample, *_) = sql(folder, f"select sample_id from marts.dim_samples where audit_run_id = '{runs[1]}' order by 1")
    for kind in ("worst", "least_consistent"):
        refused = promptaudit(folder, "try", "part", "--on", f"{kind}:5", "--add", "Think first.")
        assert refused.code == 2
        assert "under some of the wordings alone" in refused.one_line()
        assert "name samples by their ids" in refused.one_line()
    refused = promptaudit(folder, "try", "part", "--on", sample["sample_id"], "--add", "Think first.", "--no-control")
    assert refused.code == 2
    assert f"under {PER_SAMPLE} of {N_WORDINGS} wordings" in refused.one_line()


@pytest.mark.soak
def test_a_trial_of_named_samples_asks_them_under_all_wordings(nights: tuple[Path, list[str]]) -> None:
    folder, (_, second) = nights
    rows = sql(folder, f"select sample_id from marts.dim_samples where audit_run_id = '{second}' order by 1 limit 4")
    on = ",".join(row["sample_id"] for row in rows)
    ended = promptaudit(folder, "try", "part", "--on", on, "--add", "Think first.", "--model", "lexical", "--json")
    assert ended.code == 0, ended.err
    found = ended.json()
    assert found["n_asked"] == 4 * 3 * N_WORDINGS
    measures = {each["measure"]: each for effects in found["effects"] for each in effects["measures"]}
    assert measures["sensitivity"]["after"]["figure"] is not None


@pytest.mark.soak
def test_a_killed_run_goes_on_with_the_grid_that_it_was_dealt(tmp_path: Path) -> None:
    grids = []
    n_samples, n_cells = 40, 40 * PER_SAMPLE
    for folder, is_killed in ((tmp_path / "whole", False), (tmp_path / "killed", True)):
        with running_provider() as provider:
            write_cards(
                folder / "registry",
                provider.base_url,
                n_samples=n_samples,
                variants=N_WORDINGS,
                limits=LIMITS,
                audit=f"  design: {{wordings_per_sample: {PER_SAMPLE}}}\n  resamples: 100\n",
            )
            if is_killed:
                killed_between_answers(folder, provider, n_cells // 2, "run", AUDIT, AUDIT_KEY=KEY)
                assert kept(folder) == n_cells // 2
            ended = promptaudit(folder, "run", AUDIT, "--json", AUDIT_KEY=KEY)
            assert ended.code == 0, ended.err
            assert ended.json()["n_asked"] == n_cells - is_killed * (n_cells // 2)
            assert provider.n_requests == n_cells
            assert set(provider.n_asked.values()) == {1}
        grids.append(
            sql(folder, "select prompt_variant_id, repetition, list_sort(sample_ids) as ids from raw.grid order by all")
        )
    assert grids[0] == grids[1]
