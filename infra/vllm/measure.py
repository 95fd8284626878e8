"""Measures a whole audit of a model that vLLM serves beside the same prompts without a server, in at most eight minutes.

    .venv/bin/python infra/vllm/measure.py MODEL_FOLDER --to measured.json

An audit of made-up questions is run from its cards to its page; then the prompts that it sent are answered by vLLM's own
offline engine, and as many of them as there is time for by transformers. Where the machine has two GPUs or more, the audit is
run again with a copy of the model on each (`data_parallel_size`). A folder without weights is measured with random ones.

The file is written after every part: tokens and answers a second, the share of the offline engine's tokens a second that the
audit reaches, and how many of the prompts' tokens the prefix cache knew. Run it alone on the machine. For a first try on a
CPU: `--samples 6 --wordings 2 --set dtype=float32 --set gpu_memory_utilization=0.1`.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import httpx2

from promptaudit.engines.local_server.process import ServerProcess
from promptaudit.engines.vllm.command_line import interpreter, launch_of
from promptaudit.registry.cards import ModelCard

QUESTIONS = Path(__file__).parents[2] / "models_registry/datasets/question_type.csv"
GENERATE = Path(__file__).with_name("generate.py")
KEY = "MEASURED_SERVER_API_KEY"
ANSWERS = """
    select
        count(completion) as answers,
        count(*) filter (completion is null) as unanswered,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        epoch(max(landed_at)) - epoch(min(landed_at - to_milliseconds(coalesce(latency_ms, 0)))) as answering_seconds
    from raw.predictions
"""


class Measurement:
    """One measurement: its options, its folder, the time it has, and the file that each part goes into."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options, self._folder = options, folder
        self._until = time.monotonic() + 60 * options.minutes
        self._model = options.model.resolve()
        self._has_weights = any(self._model.glob("*.safetensors"))
        # as many wait at the server as it computes: a place that an answer leaves is taken at once
        self._settings = {"max_num_seqs": max(1, options.connections // 2)} | dict(
            _setting(each) for each in options.set
        )
        self._found: dict[str, Any] = {
            "model": self._model.name,
            "weights": "real" if self._has_weights else "random",
            "settings": self._settings,
            "samples": options.samples,
            "wordings": options.wordings,
            "processors": os.cpu_count(),
        }

    def measure(self) -> None:
        """Measures each part; where the time is over, the file says in which one."""
        try:
            self._measure_parts()
        except subprocess.TimeoutExpired as error:
            self._found["out_of_time"] = " ".join(map(str, error.cmd))
            self._write()

    def _measure_parts(self) -> None:
        prompts = self._audited("audit")
        self._generated("vllm", prompts)
        audit, offline = self._found["audit"], self._found["vllm"]
        audit["share_of_offline"] = audit["tokens_a_second"] / offline["tokens_a_second"]
        answering = audit["tokens_a_second_while_answering"]
        audit["share_of_offline_while_answering"] = answering / offline["tokens_a_second"]
        self._write()
        self._generated("transformers", prompts)
        n_gpus = len(offline["gpus"])
        if n_gpus > 1:
            self._audited("audit_data_parallel", data_parallel_size=n_gpus)

    def _audited(self, part: str, **settings: object) -> list[Any]:
        """Runs the audit against a server that is started for it; returns the prompts as they were sent."""
        folder, left = self._folder / part, max(1.0, self._until - time.monotonic())
        settings = {**self._settings, "start_timeout_s": left, **settings}
        card = ModelCard(engine="vllm_server", model=str(self._model), vllm=settings)
        launch = launch_of(card)
        dummy = [] if self._has_weights else ["--load-format=dummy"]
        server = ServerProcess(replace(launch, words=lambda port: [*launch.words(port), *dummy]))
        try:
            began = time.monotonic()
            asyncio.run(server.ready())
            start_seconds = time.monotonic() - began
            _write_registry(folder / "registry", self._options, self._model, server.base_url)
            seconds, processor_seconds = self._command(folder, {KEY: server.key}, "run", "measured")
            hit_rate = _prefix_cache_hit_rate(server.base_url)
        finally:
            server.end()
        with duckdb.connect(str(folder / "warehouse/audit.duckdb"), read_only=True) as con:
            found = con.execute(ANSWERS)
            tally = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
        tokens = tally["prompt_tokens"] + tally["completion_tokens"]
        self._keep(
            part,
            {
                **tally,
                "start_seconds": start_seconds,
                "seconds": seconds,
                "processor_seconds": processor_seconds,
                "prefix_cache_hit_rate": hit_rate,
                "tokens_a_second_while_answering": tokens / tally["answering_seconds"],
            },
        )
        self._command(folder, {}, "export", "--to", str(folder / "exported"))
        rows = duckdb.sql(f"select messages from '{folder}/exported/predictions.parquet'").fetchall()  # noqa: S608 - ours
        return [json.loads(text) for (text,) in rows]

    def _generated(self, how: str, prompts: list[Any]) -> None:
        """Answers the prompts by `generate.py` in vLLM's environment."""
        left = self._until - time.monotonic()
        request, result = self._folder / f"{how}_request.json", self._folder / f"{how}_result.json"
        request.write_text(
            json.dumps(
                {
                    "model": str(self._model),
                    "has_weights": self._has_weights,
                    "prompts": prompts,
                    "max_tokens": self._options.max_tokens,
                    "settings": self._settings,
                    "seconds": min(60, left / 3),
                }
            )
        )
        subprocess.run([interpreter(), GENERATE, how, request, result], check=True, timeout=max(1, left))  # noqa: S603 - ours
        self._keep(how, json.loads(result.read_text()))

    def _command(self, folder: Path, variables: Mapping[str, str], *words: str) -> tuple[float, float]:
        """Runs promptaudit to its end; returns its seconds, and those of processors that it and its children took."""
        before, began = _processor_seconds(), time.monotonic()
        command = [sys.executable, "-P", "-m", "promptaudit.cli", *words]
        left = self._until - time.monotonic()
        subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=True, timeout=max(1, left))  # noqa: S603 - ours
        return time.monotonic() - began, _processor_seconds() - before

    def _keep(self, part: str, found: dict[str, Any]) -> None:
        tokens = found["prompt_tokens"] + found["completion_tokens"]
        rates = {"tokens_a_second": tokens / found["seconds"], "answers_a_second": found["answers"] / found["seconds"]}
        self._found[part] = found | rates
        self._write()

    def _write(self) -> None:
        draft = self._options.to.with_suffix(".part")
        draft.write_text(json.dumps(self._found, indent=1) + "\n")
        draft.rename(self._options.to)


def _write_registry(registry: Path, options: argparse.Namespace, model: Path, base_url: str) -> None:
    """Writes the cards and the samples: pairs of the shipped questions, each pair once."""
    for kind in ("models", "tasks", "audits", "datasets"):
        (registry / kind).mkdir(parents=True)
    with QUESTIONS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (registry / "datasets/pairs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "type"])
        for number in range(options.samples):
            turn, place = divmod(number, len(rows))
            first, second = rows[place], rows[(place + turn + 1) % len(rows)]
            writer.writerow([f"p{number}", f"{first['question']} {second['question']}", first["type"]])
    labels = ", ".join(sorted({row["type"] for row in rows}))
    (registry / "tasks/pairs.yml").write_text(
        f"pairs:\n  labels: [{labels}]\n  instruction: Classify the first question by the type of its answer.\n"
        "  output_format: Reply with the label alone.\n  reader: label_in_text\n"
        "  data: {path: datasets/pairs.csv, id: id, input: question, gold_label: type}\n"
    )
    (registry / "models/measured.yml").write_text(
        f"measured:\n  engine: vllm_server\n  model: {json.dumps(str(model))}\n  base_url: {base_url}\n  api_key_env: {KEY}\n"
        f"  sampling: {{temperature: 0, max_tokens: {options.max_tokens}}}\n"
        f"  limits: {{max_connections: {options.connections}, timeout_s: 300}}\n  price: free\n"
    )
    (registry / "audits/measured.yml").write_text(
        "measured:\n  tasks: [pairs]\n  models: [measured]\n  strategies: [simple]\n"
        f"  rephrasing: {{rephraser: rules, variants: {options.wordings}}}\n  repetitions: {{original: 1, variants: 1}}\n"
        "  format: {policy: warn, max_invalid_rate_at_first: 1}\n"
    )


def _prefix_cache_hit_rate(base_url: str) -> float | None:
    text = httpx2.get(f"{base_url.removesuffix('/v1')}/metrics").text
    queried, hit = (
        sum(
            float(value)
            for value in re.findall(rf"^vllm:prefix_cache_{name}_total\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
        )
        for name in ("queries", "hits")
    )
    return hit / queried if queried else None


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Reads the options and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", type=Path, help="a folder as vLLM reads models, with a chat template; may lack weights"
    )
    parser.add_argument("--to", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--wordings", type=int, default=12)
    parser.add_argument(
        "--connections", type=int, default=1024, help="requests in flight; half as many are computed at once"
    )
    parser.add_argument("--max-tokens", type=int, default=16, help="of each answer")
    parser.add_argument("--minutes", type=float, default=8, help="after which no part goes on")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of vLLM, as cards name them"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="promptaudit-measure-") as folder:
        Measurement(options, Path(folder)).measure()
    sys.stdout.write(options.to.read_text())


if __name__ == "__main__":
    main()
