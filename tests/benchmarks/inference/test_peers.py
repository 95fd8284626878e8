"""The whole path from a plan to tables, beside what others need for as much: processor seconds, and seconds waited for."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tests.support.fast_server import running_fast_server
from tests.support.http_audit import AUDIT, write_cards

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]
CONNECTIONS = 64
N_WORDINGS = 20
KEY = "sk-0123456789abcdef"
BY_INSPECT = """
import csv
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import exact


@task
def questions():
    with open("prompts.csv", newline="") as file:
        return Task(dataset=[Sample(input=prompt, target=label) for prompt, label in csv.reader(file)], scorer=exact())
"""
TO_DATAFRAME = """
from inspect_ai.analysis import samples_df
found = samples_df("logs")
assert len(found) == int(__import__("sys").argv[1]), len(found)
"""


@dataclass(frozen=True)
class Price:
    """Seconds of processors, of a command and all that it started, and seconds until it was done."""

    processor_s: float
    wall_s: float

    def __str__(self) -> str:
        return f"{self.processor_s:.1f} s of processors in {self.wall_s:.1f} s"


def price(folder: Path, *commands: Sequence[str | Path], **variables: str) -> Price:
    """What commands cost that run one after the other."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        ended = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Price(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, time.perf_counter() - began)


def promptaudit() -> list[str]:
    return [sys.executable, "-m", "promptaudit.cli"]


def ours(folder: Path, n: int, latency_s: float) -> Price:
    """`promptaudit run`: plan, wordings, asking, landing, checks, marts and page."""
    with running_fast_server(latency_s) as server:
        write_cards(
            folder / "registry",
            server.base_url,
            n_samples=n // N_WORDINGS,
            variants=N_WORDINGS,
            price="free",
            limits=f"{{max_connections: {CONNECTIONS}}}",
            max_invalid_rate_at_first=1,
        )
        found = price(folder, [*promptaudit(), "run", AUDIT], AUDIT_KEY=KEY)
        assert server.counters()["requests"] == n
    with duckdb.connect(str(folder / "warehouse/published/audit.duckdb"), read_only=True) as con:
        assert con.execute("select count(*) from marts.fct_predictions").fetchone() == (n,)
    return found


def by_inspect(folder: Path, n: int, latency_s: float) -> Price:
    """`inspect eval` with the log that costs it least, and its samples as a dataframe."""
    folder.mkdir()
    (folder / "task.py").write_text(BY_INSPECT)
    with (folder / "prompts.csv").open("w", newline="") as file:
        rows = [
            (f"Classify the question, {wording}. Reply with the label alone.\n\nWhat is number {sample}?", "number")
            for wording in range(N_WORDINGS)
            for sample in range(n // N_WORDINGS)
        ]
        csv.writer(file).writerows(rows)
    with running_fast_server(latency_s) as server:
        # by its module: a command's script may begin with another environment's Python
        inspect = [sys.executable, "-c", "from inspect_ai._cli.main import main; main()"]
        model = ["--model", "openai-api/loopback/m", "--model-base-url", server.base_url]
        quietly = ["--no-log-realtime", "--display", "none", "--max-connections", str(CONNECTIONS)]
        asked = [*inspect, "eval", "task.py", *model, *quietly, "--max-samples", str(CONNECTIONS)]
        found = price(folder, asked, [sys.executable, "-c", TO_DATAFRAME, str(n)], LOOPBACK_API_KEY=KEY)
        assert server.counters()["requests"] == n
    return found


@pytest.mark.parametrize("latency_s", [0.0, 0.05])
@pytest.mark.parametrize("n", [200, 4_000, 20_000])
def test_the_whole_path_beside_inspect_ai(tmp_path: Path, n: int, latency_s: float) -> None:
    pytest.importorskip("inspect_ai")
    mine, theirs = ours(tmp_path / "ours", n, latency_s), by_inspect(tmp_path / "theirs", n, latency_s)
    version = importlib.metadata.version("inspect_ai")
    print(
        f"\n{n} answers at {1000 * latency_s:.0f} ms: ours {mine}, inspect_ai {version} {theirs}; "
        f"{mine.processor_s / theirs.processor_s:.2f} of its processor seconds, {mine.wall_s / theirs.wall_s:.2f} of its time"
    )


def test_the_fixed_price_beside_promptfoo(tmp_path: Path) -> None:
    """Four answers that cost nothing: promptfoo's echo, and an embedded model here, after a first run of each."""
    command = shutil.which("promptfoo")
    if command is None:
        pytest.skip("no promptfoo; npm installs it")
    prompts = [
        f"Classify the question{words}. Reply with the label alone. {{{{question}}}}" for words in ("", " by type")
    ]
    tests = [
        {"vars": {"question": question}, "assert": [{"type": "contains", "value": "question"}]}
        for question in ("How many moons has Mars?", "Who wrote Hamlet?")
    ]
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps({"providers": ["echo"], "prompts": prompts, "tests": tests})
    )
    write_cards(tmp_path / "registry", "http://127.0.0.1:9/v1", n_samples=2, variants=2)
    (tmp_path / "registry/models/api.yml").write_text("api:\n  engine: embedded\n  model: random\n")
    silent = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(tmp_path),
    }
    theirs = [price(tmp_path, [command, "eval", "--no-cache", "-o", "out.json"], **silent) for _ in range(2)][1]
    mine = [price(tmp_path, [*promptaudit(), "run", AUDIT, "--new"]) for _ in range(2)][1]
    plain = price(tmp_path, [*promptaudit(), "run", AUDIT, "--new"], PROMPTAUDIT_PREFECT="off")
    print(
        f"\nfour answers: ours {mine}, without Prefect {plain}, promptfoo {theirs}; {mine.processor_s / theirs.processor_s:.1f} "
        f"and {plain.processor_s / theirs.processor_s:.1f} times its processor seconds"
    )
