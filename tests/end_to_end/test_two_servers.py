"""One model under two servers: the same weights, by llama.cpp in four bits as they are and by vLLM in 32, in one audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.llama import PACKAGE, need_model
from tests.support.questions import numbered, write_questions
from tests.support.shell import promptaudit, promptaudit_process, sql
from tests.support.vllm import QUICK, ROOT, need_vllm

pytestmark = pytest.mark.slow
WEIGHTS = ROOT / "infra/vllm/.venv/smollm2"
N_SAMPLES = 8


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of both."""
    need_model()
    need_vllm()
    if not WEIGHTS.is_dir():
        pytest.skip(f"no model at {WEIGHTS}; make vllm writes it")
    folder = tmp_path_factory.mktemp("two")
    registry = folder / "registry"
    write_questions(registry, numbered(N_SAMPLES), "label_in_text")
    sampling = "  sampling: {temperature: 0, max_tokens: 16, logprobs: true}\n  limits: {timeout_s: 120}\n"
    (registry / "models/both.yml").write_text(
        f"by_llama:\n  engine: llama_cpp\n  model: smol\n  package: {PACKAGE}\n"
        f"  llama_cpp: {{context: 1024, slots: 1}}\n{sampling}"
        f"by_vllm:\n  engine: vllm_server\n  model: {WEIGHTS}\n"
        "  vllm: {dtype: float32, max_model_len: 1024, max_num_seqs: 4, gpu_memory_utilization: 0.1}\n" + sampling
    )
    (registry / "audits/both.yml").write_text(
        "both:\n  tasks: [questions]\n  models: [by_llama, by_vllm]\n  strategies: [simple, structured]\n"
        "  rephrasing: {rephraser: rules, variants: 3}\n  repetitions: {original: 1, variants: 1}\n"
        "  format: {policy: warn, max_invalid_rate_at_first: 1}\n"
    )
    ended = promptaudit_process(folder, "run", "both", **QUICK)
    assert ended.code == 0, ended.err
    return folder


def test_both_answer_every_cell_from_the_same_prompt(audited: Path) -> None:
    rows = sql(
        audited,
        "select sample_id, strategy, variant_index, count(*) n, count(distinct prompt_tokens) n_lengths, count(completion) done "
        "from fct_predictions join dim_prompt_variants using (audit_run_id, prompt_variant_id, strategy, variant_index) "
        "group by all",
    )
    assert len(rows) == N_SAMPLES * 2 * 3
    # one chat template makes as many tokens of the same messages
    assert {(row["n"], row["n_lengths"], row["done"]) for row in rows} == {(2, 1, 2)}


def test_rounding_alone_lies_between_their_answers(audited: Path) -> None:
    rows = sql(
        audited,
        "select llama.strategy, count(*) n, count(*) filter (llama.completion = vllm.completion) n_same "
        "from fct_predictions llama join fct_predictions vllm using (sample_id, prompt_variant_id, repetition) "
        "where llama.model_id = 'by_llama' and vllm.model_id = 'by_vllm' and llama.strategy = 'simple' group by all",
    )
    (row,) = rows
    assert row["n"] == N_SAMPLES * 3
    # the likeliest tokens are seldom so close that four bits beside 32 decide
    assert row["n_same"] / row["n"] > 0.5


def test_compare_says_which_answers_differ(audited: Path) -> None:
    ended = promptaudit(audited, "compare", "by_llama", "by_vllm", "--all")
    assert ended.code == 0, ended.err
    flips = sql(audited, "select count(*) n from fct_flips")
    labels = sql(
        audited,
        "select count(*) n from fct_predictions llama join fct_predictions vllm using (sample_id, prompt_variant_id, repetition) "
        "where llama.model_id = 'by_llama' and vllm.model_id = 'by_vllm' and llama.label is distinct from vllm.label",
    )
    assert flips[0]["n"] == labels[0]["n"]
