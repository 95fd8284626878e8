"""An audit of a real language model, from the shell: killed and continued, asked again, and told as what it is."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import psutil
import pytest

from tests.support.llama import PACKAGE, need_model
from tests.support.nights_cut_short import kept
from tests.support.questions import write_questions
from tests.support.shell import promptaudit, promptaudit_process, sql, start
from tests.support.vllm import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # three audits, one of them killed on the way
COLD, WARM = "cold", "warm"
QUESTIONS = {
    "Who wrote the letter?": "person",
    "How many eggs are left?": "number",
    "Who is the captain?": "person",
    "How old is the bridge?": "number",
    "Whose coat is this?": "person",
    "How far is the lake?": "number",
}
N_CELLS = 2 * len(QUESTIONS) * 2 * 2  # models, samples, wordings, each twice


def write_registry(folder: Path) -> None:
    write_questions(folder, list(QUESTIONS.items()), "label_in_text")
    served = f"  engine: llama_cpp\n  model: smol\n  package: {PACKAGE}\n  llama_cpp: {{context: 1024, slots: 2, threads: 1}}\n"
    (folder / "models/smol.yml").write_text(
        f"{COLD}:\n{served}  sampling: {{temperature: 0, max_tokens: 20}}\n"
        f"{WARM}:\n{served}  sampling: {{temperature: 1, seed: 7, max_tokens: 20}}\n"
    )
    (folder / "audits/real.yml").write_text(
        f"real:\n  tasks: [questions]\n  models: [{COLD}, {WARM}]\n  strategies: [structured]\n"
        "  rephrasing: {rephraser: rules, variants: 2}\n  repetitions: {original: 2, variants: 2}\n"
        "  format: {policy: warn, max_invalid_rate_at_first: 1}\n"
    )


def servers(folder: Path) -> list[int]:
    """The llama.cpp servers that runs in a folder started."""
    found = []
    for process in psutil.process_iter():
        try:
            is_ours = any(word.endswith("llama_cpp/serve.py") for word in process.cmdline())
            if is_ours and process.environ().get("AUDIT_FOLDER") == str(folder):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that was killed with some answers landed, and went on; then a second run."""
    need_model()
    folder = tmp_path_factory.mktemp("real")
    write_registry(folder / "registry")
    first = start(folder, "run", "real", has_server=False, AUDIT_FOLDER=str(folder))
    assert first.stderr is not None
    next(line for line in first.stderr if (bar := re.search(r"\d+/\d+ \(", line)) and not bar[0].startswith("0/"))
    (server,) = servers(folder)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    until(lambda: not psutil.pid_exists(server), 15)
    n_kept = kept(folder)
    assert 0 < n_kept < N_CELLS
    second = promptaudit_process(folder, "run", "real", AUDIT_FOLDER=str(folder))
    assert second.code == 0, second.err
    assert f"{N_CELLS - n_kept} cells asked" in second.out + second.err
    assert second.err.count("starting llama.cpp") == 1
    again = promptaudit_process(folder, "run", "real", "--new", AUDIT_FOLDER=str(folder))
    assert again.code == 0, again.err
    assert servers(folder) == []
    return folder


def test_every_cell_is_landed_once_and_what_a_kill_left_is_not_asked_again(audited: Path) -> None:
    runs = sql(
        audited,
        "select audit_run_id, count(*) n, count(distinct prediction_id) n_ids, count(completion) n_answers "
        "from fct_predictions group by all",
    )
    assert [(row["n"], row["n_ids"], row["n_answers"]) for row in runs] == [(N_CELLS,) * 3] * 2


def test_the_model_is_recorded_with_its_weights_and_template(audited: Path) -> None:
    rows = sql(audited, "select distinct engine_version, served_model, weights_sha256, chat_template from dim_models")
    (row,) = rows
    assert row["engine_version"].startswith("xllamacpp ")
    assert row["served_model"] == PACKAGE.partition("/")[2]
    assert len(row["weights_sha256"]) == 64
    assert "<|im_start|>" in row["chat_template"]


def test_a_schema_makes_every_answer_a_label(audited: Path) -> None:
    rows = sql(audited, "select distinct answer_status, label from fct_predictions")
    assert {row["label"] for row in rows if row["answer_status"] == "valid"} == {"number", "person"}
    # at temperature 1 white space may use up the cap
    assert {row["answer_status"] for row in rows} <= {"valid", "truncated"}


def test_at_temperature_1_repetitions_differ_and_the_figures_say_that_it_is_noise(audited: Path) -> None:
    rows = sql(audited, "select model_id, avg(noise_share) noise, min(pss_intra) pss from rpt_audit group by all")
    found = {row["model_id"]: row for row in rows}
    assert found[WARM]["noise"] > 0
    assert found[WARM]["pss"] < 1


def test_two_runs_at_temperature_0_differ_by_noise_alone(audited: Path) -> None:
    newest, first = (
        row["audit_run_id"] for row in sql(audited, "select audit_run_id from dim_audit_runs order by started_at desc")
    )
    ended = promptaudit(audited, "compare", first, newest, "--json")
    assert ended.code == 0, ended.err
    rows = sql(
        audited,
        f"select verdict, count(*) n from rpt_run_comparisons where base_run_id = '{first}' and candidate_run_id = '{newest}' "
        f"and model_id = '{COLD}' group by all",
    )
    verdicts = {row["verdict"] for row in rows}
    assert verdicts
    assert not verdicts & {"regressed", "improved", "changed"}, rows
    # nothing that was recorded differs, the server's weights and its version among it
    changes = sql(audited, f"select what from rpt_run_changes where candidate_run_id = '{newest}'")
    assert changes == []
