"""Runs from Python, made by the commands in a process of their own and read as frames."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import promptaudit as pa
from promptaudit.system.settings import SILENT
from tests.support.http_audit import AUDIT, write_cards
from tests.support.openai_server import running_server

ANSWERS = pl.DataFrame(
    {
        "model": ["m"] * 12,
        "sample_id": [str(number) for number in range(6) for _ in range(2)],
        "variant_index": [0, 1] * 6,
        "input": [f"a short text, number {number}" for number in range(6) for _ in range(2)],
        "completion": ["a", "a", "b", "a", "b", "b", "<think>b?</think>\n a", "a", "N/A", "b", "a", "a"],
        "gold_label": ["a"] * 2 + ["b"] * 4 + ["a"] * 2 + ["b"] * 2 + ["a"] * 2,
    }
)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> pa.Run:
    file = tmp_path_factory.mktemp("warehouse") / "audit.duckdb"
    return pa.import_answers(ANSWERS, labels=["a", "b"], warehouse=file, resamples=50, quiet=True)


@pytest.mark.slow
def test_a_run_has_the_figures_that_the_measures_give(imported: pa.Run) -> None:
    (row,) = imported.scorecard.to_dicts()
    predictions = imported.table("fct_predictions")
    assert isinstance(predictions, pl.DataFrame)
    sensitivity = pa.measures.sensitivity(predictions, labels=["a", "b"])
    assert row["sensitivity"] == pytest.approx(sensitivity.sensitivity, abs=1e-12)
    assert row["sensitivity_std"] == pytest.approx(sensitivity.sensitivity_std, abs=1e-12)
    assert row["sensitivity_corrected"] is None  # below eight wordings nothing is corrected
    consistency = pa.measures.consistency(predictions, n_resamples=0)
    assert row["consistency"] == pytest.approx(consistency.consistency, abs=1e-12)
    alpha = pa.measures.krippendorff_alpha(predictions)
    assert row["pss_inter_valid"] == pytest.approx(alpha.alpha, abs=1e-12)  # None is missing there
    assert row["pss_inter"] < row["pss_inter_valid"]
    stability = pa.measures.prompt_stability(predictions, n_resamples=0)
    landed = imported.table("fct_prompt_stability").filter(scope="inter", annotation_filter="valid")
    order = ["series", "n_annotators"]
    assert landed.sort(order)["pss"].to_list() == pytest.approx(stability.sort(order)["pss"].to_list(), abs=1e-12)


@pytest.mark.slow
def test_sql_of_ones_own_has_the_measures(imported: pa.Run) -> None:
    (code,) = blocks("python")
    scope: dict[str, Any] = {}
    exec(code.replace("warehouse/published/audit.duckdb", str(published(imported))), scope)  # noqa: S102 - the guide's
    ((run, model_id, task_id, strategy, accuracy),) = scope["found"].fetchall()
    (row,) = imported.scorecard.to_dicts()
    place = imported.audit_run_id, *(row[name] for name in ("model_id", "task_id", "strategy"))
    assert (run, model_id, task_id, strategy) == place
    assert accuracy["mean"] == pytest.approx(row["micro_f1"], abs=1e-12)
    bounds = row["micro_f1_low"], row["micro_f1_high"]
    assert (accuracy["low"], accuracy["high"]) == pytest.approx(bounds, abs=1e-12)
    with pytest.raises(ValueError, match="already: accepted_state, alpha_pseudo_values"):
        pa.register(scope["con"])


@pytest.mark.soak
def test_a_dbt_project_of_ones_own_names_ours_as_a_package(imported: pa.Run, tmp_path: Path) -> None:
    files = (
        "packages.yml",
        "profiles.yml",
        "dbt_project.yml",
        "macros/generate_schema_name.sql",
        "models/differing.sql",
    )
    of_metrics = ("models/days.sql", "models/scorecards.sql", "models/metrics.yml")
    written = zip(files, [*blocks("yaml"), *blocks("sql")], strict=True)
    metrics = zip(of_metrics, [*blocks("sql", "tables"), *blocks("yaml", "tables")], strict=True)
    for name, text in (*written, *metrics):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    places = {"PROMPTAUDIT_DBT": str(pa.dbt_project()), "PROMPTAUDIT_COPY": str(published(imported))}
    for command in ("deps", "run --select package:own", "test --select package:promptaudit --exclude test_type:unit"):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "dbt.cli.main", *command.split(), "--profiles-dir", "."],
            cwd=tmp_path,
            env={**os.environ, **SILENT, **places},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
    with duckdb.connect(tmp_path / "own.duckdb") as con:
        con.execute(f"attach '{published(imported)}' as audit (read_only)")
        ((sensitivity,),) = con.sql("select sensitivity from main.differing").fetchall()
        ((corrected,),) = con.sql("select sensitivity_corrected from main.scorecards").fetchall()
    assert sensitivity == pytest.approx(imported.scorecard["sensitivity"].item(), abs=1e-12)
    assert corrected == imported.scorecard["sensitivity_corrected"].item()
    semantic = json.loads((tmp_path / "target/semantic_manifest.json").read_text(encoding="utf-8"))
    assert {metric["name"] for metric in semantic["metrics"]} == {"sensitivity", "cost_usd"}


def blocks(language: str, page: str = "measures") -> list[str]:
    """What a page of the guide writes in a language."""
    page = (pa.dbt_project().parent / f"infra/guide/{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def published(run: pa.Run) -> Path:
    return run.warehouse.parent / "published" / run.warehouse.name


@pytest.mark.slow
def test_reasoning_before_an_answer_stands_apart_and_the_completion_is_verbatim(imported: pa.Run) -> None:
    row = imported.table("fct_predictions").row(
        by_predicate=(pl.col("sample_id") == "3") & (pl.col("variant_index") == 0), named=True
    )
    assert (row["completion"], row["reasoning"], row["label"]) == ("<think>b?</think>\n a", "b?", "a")


@pytest.mark.slow
def test_a_warehouse_is_opened_by_its_folder_and_asked_as_by_sql(imported: pa.Run) -> None:
    opened = pa.open(imported.warehouse.parent)
    assert opened.latest() == opened.latest("imported") == opened.run(imported.audit_run_id[:8]) == imported
    assert opened.runs["audit_run_id"].to_list() == [imported.audit_run_id]
    counted = opened.sql("select answer_status, count(*) as n from marts.fct_predictions group by all order by all")
    assert counted.rows() == [("unparsed", 1), ("valid", 11)]
    assert imported.report().is_file()
    with pytest.raises(pa.PromptauditError, match=r"WarehouseError: .*"):
        opened.sql("select * from read_csv('/etc/passwd')")
    with pytest.raises(pa.PromptauditError, match=r"no mart 'fct_sensitivities'; nearest: fct_sensitivity"):
        imported.table("fct_sensitivities")
    with pytest.raises(pa.PromptauditError, match=r"rpt_run_comparisons: its rows are of two runs"):
        imported.table("rpt_run_comparisons")


@pytest.mark.slow
def test_the_same_answers_again_do_nothing(imported: pa.Run) -> None:
    again = pa.import_answers(
        ANSWERS.to_arrow(), labels=["a", "b"], warehouse=imported.warehouse, resamples=50, quiet=True
    )
    assert again == imported


@pytest.mark.slow
def test_errors_are_the_commands_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.duckdb"
    with pytest.raises(pa.PromptauditError, match=r"UnknownCard: .*quickstart") as raised:
        pa.run("quickstar", warehouse=file)
    assert type(raised.value).__name__ == "UnknownCard"
    assert "quickstart" in capsys.readouterr().err
    with pytest.raises(pa.PromptauditError, match=r"UsageError: .*labels"):
        pa.import_answers(ANSWERS.drop("gold_label"), warehouse=file, quiet=True)
    with pytest.raises(pa.PromptauditError, match=r"DataError: no latest run|.*nothing is published|.*holds no"):
        pa.open(file).latest()


@pytest.mark.soak
def test_a_run_is_interrupted_and_the_same_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-test-0123456789abcdef0123456789abcdef"
    monkeypatch.setenv("AUDIT_KEY", key)
    with running_server(key=key, latency_s=0.2) as server:
        registry = write_cards(tmp_path / "cards", server.base_url, n_samples=60, limits="{max_connections: 4}")
        file = tmp_path / "audit.duckdb"
        call = (
            f"import promptaudit as pa; print(pa.run({AUDIT!r}, warehouse={str(file)!r}, registry=[{str(registry)!r}]))"
        )
        process = subprocess.Popen([sys.executable, "-c", call], stderr=subprocess.PIPE, text=True)
        while server.counters()["requests"] < 40:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert "KeyboardInterrupt" in said
        assert "interrupted; what had landed is kept" in said
        n_before = server.counters()["requests"]
        assert n_before < 180
        run = pa.run(AUDIT, warehouse=file, registry=[registry])
        assert run.scorecard["n_landed"].to_list() == [180]
        assert server.counters()["requests"] <= 180 + 4
        assert pa.run(AUDIT, warehouse=file, registry=[registry]) == run
        assert server.counters()["requests"] <= 180 + 4
