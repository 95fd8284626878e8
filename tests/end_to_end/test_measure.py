"""The script that measures a GPU, tried on this machine's processor: a real audit of a real vLLM, of a model without weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.vllm import QUICK, ROOT, SMALL, make_tiny

pytestmark = pytest.mark.slow


def test_all_parts_are_asked_the_same_prompts(tmp_path: Path) -> None:
    model, result = make_tiny(tmp_path / "tiny"), tmp_path / "measured.json"
    for weights in model.glob("*.safetensors"):
        weights.unlink()  # which makes them random
    settings = [f"--set={name}={value}" for name, value in SMALL.items()]
    few = ["--samples=4", "--wordings=3", "--connections=4", "--max-tokens=5", *settings]
    command = [sys.executable, ROOT / "infra/vllm/measure.py", model, "--to", result, *few]
    ended = subprocess.run(command, env={**os.environ, **QUICK}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(result.read_text())
    parts = [found[name] for name in ("audit", "vllm", "transformers")]
    assert [part["answers"] for part in parts] == [12, 12, 12]
    assert len({part["prompt_tokens"] for part in parts}) == 1
    audit, offline, _ = parts
    assert audit["unanswered"] == 0
    # random weights seldom end an answer
    assert 12 < audit["completion_tokens"] <= 12 * 5
    assert audit["completion_tokens"] == offline["completion_tokens"]
    assert audit["tokens_a_second"] == (audit["prompt_tokens"] + audit["completion_tokens"]) / audit["seconds"]
    assert audit["share_of_offline"] == audit["tokens_a_second"] / offline["tokens_a_second"]
    assert found["weights"] == "random"
    assert "out_of_time" not in found
