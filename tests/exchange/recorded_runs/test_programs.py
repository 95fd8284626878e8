"""The programs themselves, where they are on the PATH: what they write now is read, and scored as they print it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.formats.answers import PROGRAM_SCORE
from promptaudit.exchange.recorded_runs.formats.source import ZipMembers
from promptaudit.exchange.recorded_runs.read_files import read_recordings

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def run(folder: Path, *command: str, **extra: str) -> str:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), **extra}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def right(*files: Path) -> list[float]:
    """The share that is right of each prompt variant: by labels or letters as they are, and as the program scored it."""
    frame = read_recordings(list(files)).frame
    shares = []
    for (_,), rows in frame.group_by(["variant_index"], maintain_order=True):
        said = rows["completion"].str.strip_chars().str.replace(r".*ANSWER: ", "")
        shares.append((said == rows["gold_label"]).mean())
        assert shares[-1] == pytest.approx(rows[PROGRAM_SCORE].cast(pl.Float64).mean())
    return shares


def test_inspect_ai(tmp_path: Path) -> None:
    python = Path(needs("inspect")).parent / "python"
    run(tmp_path, str(python), str(PROGRAMS / "inspect_question_types.py"), "logs")
    logs = sorted((tmp_path / "logs").glob("*question*.eval"))
    headers = [ZipMembers(path).json("header.json") for path in logs]
    assert (
        right(*logs) == [each["results"]["scores"][0]["metrics"]["mean"]["value"] for each in headers] == [0.75, 0.625]
    )
    (facts,) = (tmp_path / "logs").glob("*facts*.json")
    printed = json.loads(facts.read_text())["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    assert right(facts) == [printed] == [0.5]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(PROGRAMS / "lm_eval/server.py"), str(port)], cwd=tmp_path)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def test_lm_eval(tmp_path: Path, server: int) -> None:
    program = needs("lm_eval")
    shutil.copytree(PROGRAMS / "lm_eval", tmp_path / "tasks")
    for name in ("questions.jsonl", "facts.jsonl"):
        shutil.copy(PROGRAMS / "lm_eval" / name, tmp_path)
    common = ("--include_path", "tasks", "--log_samples", "--output_path")
    arguments = f"base_url=http://127.0.0.1:{server}/v1/completions,model=mock-7b,tokenizer_backend=None,tokenized_requests=False"
    tasks = ("question_type", "question_type_polite")
    run(
        tmp_path,
        program,
        "run",
        "--model",
        "local-completions",
        "--model_args",
        arguments,
        "--tasks",
        ",".join(tasks),
        *common,
        "out",
    )
    (results,) = (tmp_path / "out").glob("*/results_*.json")
    printed = [json.loads(results.read_text())["results"][task]["exact_match,none"] for task in tasks]
    files = [next(results.parent.glob(f"samples_{task}_2*.jsonl")) for task in tasks]
    assert [right(file) for file in files] == [[each] for each in printed] == [[0.875], [0.625]]


def test_promptfoo(tmp_path: Path) -> None:
    program = needs("promptfoo")
    for path in (PROGRAMS / "promptfoo").iterdir():
        shutil.copy(path, tmp_path)
    quiet = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    command = (program, "eval", "-o", "out.json", "--no-cache", "--no-table")
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **quiet, "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 100, done.stdout[-2000:] + done.stderr[-2000:]  # tests failed, as they should
    prompts = json.loads((tmp_path / "out.json").read_text())["results"]["prompts"]
    assert right(tmp_path / "out.json") == [each["metrics"]["testPassCount"] / 6 for each in prompts]


def test_helm(tmp_path: Path) -> None:
    program = needs("helm-run")
    (tmp_path / "prod_env").mkdir()
    for path in (PROGRAMS / "helm").iterdir():
        shutil.copy(path, tmp_path / "prod_env" if path.suffix == ".yaml" else tmp_path)
    run(
        tmp_path,
        program,
        "--run-entries",
        "simple_mcqa:model=local/mock-7b",
        "--suite",
        "s",
        "--max-eval-instances",
        "6",
        "--local-path",
        "prod_env",
        "-n",
        "1",
        PYTHONPATH=str(tmp_path),
    )
    (state,) = (tmp_path / "benchmark_output/runs/s").glob("*/scenario_state.json")
    stats = json.loads(state.with_name("stats.json").read_text())
    (printed,) = [each["mean"] for each in stats if each["name"] == {"name": "exact_match", "split": "test"}]
    assert right(state) == [printed]
