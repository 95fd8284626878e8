"""What vLLM is started with, and how its answers are read, without vLLM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from promptaudit.engines import open_engine
from promptaudit.engines.vllm import loglikelihoods
from promptaudit.engines.vllm.command_line import launch_of
from promptaudit.engines.vllm.engine import VllmServerEngine
from tests.support.vllm import card


def test_a_card_becomes_one_word_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", sys.executable)
    assert launch_of(card("/models/--trust-remote-code")).words(8123) == [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model=/models/--trust-remote-code",
        "--max-model-len=1024",
        "--dtype=float32",
        "--max-num-seqs=8",
        "--gpu-memory-utilization=0.1",
        "--served-model-name=/models/--trust-remote-code",
        "--host=127.0.0.1",
        "--port=8123",
        '--structured-outputs-config={"backend":"xgrammar","disable_any_whitespace":true}',
        "--disable-uvicorn-access-log",
    ]


def test_an_options_tokens_are_those_after_what_it_has_in_common_with_the_prompt() -> None:
    def reply(*tokens: tuple[int, float]) -> dict[str, Any]:
        entries = [{str(token): {"logprob": nats}, "9": {"logprob": -0.1}} for token, nats in tokens]
        return {"prompt_token_ids": [token for token, _ in tokens], "prompt_logprobs": [None, *entries[1:]]}

    whole = loglikelihoods._read([1, 2], reply((1, 0), (2, -1), (3, -2), (4, -4)))
    assert (whole.nats, whole.n_tokens) == (-6, 2)
    # 2 and the option's first token became 7
    merged = loglikelihoods._read([1, 2], reply((1, 0), (7, -3), (4, -4)))
    assert (merged.nats, merged.n_tokens) == (-7, 2)


def test_a_card_of_the_engine_is_opened_as_it() -> None:
    from promptaudit.registry.registry import Entry

    entry = Entry(card(), Path(), "models/mine.yml", {})
    assert isinstance(open_engine(entry), VllmServerEngine)
