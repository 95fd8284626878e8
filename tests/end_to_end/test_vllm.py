"""An audit of a model that vLLM serves, from the shell, where vLLM is installed; and one that is interrupted meanwhile."""

from __future__ import annotations

import signal
from pathlib import Path

import duckdb
import pytest

from tests.support.questions import numbered, write_questions
from tests.support.shell import promptaudit_process, sql, start
from tests.support.vllm import QUICK, make_tiny, servers, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


def write_registry(folder: Path, model: Path) -> None:
    write_questions(folder, numbered(6))
    (folder / "models/tiny.yml").write_text(
        f"tiny:\n  engine: vllm_server\n  model: {model}\n"
        "  vllm: {dtype: float32, max_model_len: 1024, max_num_seqs: 8, gpu_memory_utilization: 0.1}\n"
        "  sampling: {temperature: 1, seed: 1, max_tokens: 32}\n  price: free\n"
    )
    (folder / "audits/served.yml").write_text(
        "served:\n  tasks: [questions]\n  models: [tiny]\n  strategies: [simple, structured]\n"
        "  rephrasing: {rephraser: rules, variants: 2}\n  repetitions: {original: 2, variants: 1}\n"
        # random weights answer nothing that can be read
        "  format: {policy: warn, max_invalid_rate_at_first: 1}\n"
    )


def log_of(err: str) -> Path:
    """The log that was named when the server started."""
    return Path(err.partition("; its log: ")[2].splitlines()[0])


def test_an_audit_starts_the_model_asks_it_and_ends_it(tmp_path: Path, model: Path) -> None:
    write_registry(tmp_path / "registry", model)
    ended = promptaudit_process(tmp_path, "run", "served", **QUICK)
    assert ended.code == 0, ended.err
    assert "starting vLLM" in ended.err
    assert "vLLM answers after" in ended.err
    assert servers(model) == []
    assert not log_of(ended.err).parent.exists()

    with duckdb.connect(str(tmp_path / "warehouse/audit.duckdb"), read_only=True) as con:
        opened = con.execute(
            "select model_id, engine, endpoint, engine_version, served_model, context_length from raw.engines"
        ).fetchall()
        answers = con.execute(
            "select strategy, count(*), count(completion), count(distinct system_fingerprint) from raw.predictions "
            "join raw.prompt_variants using (audit_run_id, prompt_variant_id) group by all order by strategy"
        ).fetchall()
    ((model_id, engine, endpoint, version, served, context),) = opened
    assert (model_id, engine, served, context) == ("tiny", "vllm_server", str(model), 1024)
    assert endpoint.startswith("127.0.0.1:")
    assert version
    assert answers == [("simple", 18, 18, 1), ("structured", 18, 18, 1)]
    rates = {
        row["strategy"]: row["invalid_rate"]
        for row in sql(tmp_path, "select strategy, invalid_rate from marts.rpt_audit")
    }
    assert rates["structured"] == 0
    assert rates["simple"] > 0.5


def test_interrupted_while_the_model_loads_it_leaves_nothing(tmp_path: Path, model: Path) -> None:
    write_registry(tmp_path / "registry", model)
    running = start(tmp_path, "run", "served", **QUICK)
    until(lambda: bool(servers(model)) or running.poll() is not None)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "interrupted" in err.splitlines()[-1]
    assert servers(model) == []
    assert not log_of(err).parent.exists()
