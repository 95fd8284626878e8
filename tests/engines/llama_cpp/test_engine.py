"""The engine of llama.cpp on a real language model, where it is installed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from promptaudit.engines import Answer
from promptaudit.engines.llama_cpp.command_line import gguf_of
from promptaudit.engines.llama_cpp.engine import LlamaServerEngine
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.registry import Entry
from promptaudit.system.child_processes import MARK
from tests.support.engine_requests import LABELS, request_of
from tests.support.llama import by_llama, card, need_model
from tests.support.serving import Serving, asked

pytestmark = pytest.mark.slow
SCHEMA = json.dumps(
    {"type": "object", "properties": {"label": {"type": "string", "enum": list(LABELS)}}, "required": ["label"]}
)
YES_NO = "Is this a question? Answer yes or no.\n\n"
SERVER = (
    f"#!{sys.executable}\n"
    """
import argparse, json, os, sys
from pathlib import Path
from promptaudit.engines.llama_cpp import command_line
parser = argparse.ArgumentParser(allow_abbrev=False)
for flag in ("--host", "--model", "--alias"):
    parser.add_argument(flag, required=True)
for flag in ("--port", "--ctx-size", "--parallel", "--threads", "--n-gpu-layers"):
    parser.add_argument(flag, type=int)
for flag in ("--jinja", "--no-webui"):
    parser.add_argument(flag, action="store_true", required=True)
given = parser.parse_args()
assert given.host == "127.0.0.1"
told = {"gguf": given.model, "model": given.alias, "port": given.port, "n_ctx": given.ctx_size, "slots": given.parallel,
        "threads": given.threads, "gpu_layers": given.n_gpu_layers}
serve = Path(command_line.__file__).with_name("serve.py")
os.execv(sys.executable, [sys.executable, "-P", str(serve), json.dumps(told)])
"""
)  # a llama-server for those who have none: its flags, and llama.cpp's own server behind them


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    need_model()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {MARK: "a mark", "OPENAI_API_KEY": "sk-paid"}.items():
            patch.setenv(name, value)
        serving = Serving(by_llama)
    yield serving
    server = serving.pid
    serving.close()
    assert not psutil.pid_exists(server)


def test_it_says_what_it_serves(serving: Serving) -> None:
    served = serving.engine.served
    assert served is not None
    file = gguf_of(card(), Path())
    assert served.weights_sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (served.served_model, served.context_length) == (file.name, 1024)
    assert (served.engine_version or "").startswith("xllamacpp 20")
    assert "<|im_start|>" in (served.chat_template or "")
    assert serving.server.base_url == f"http://{served.endpoint}/v1"
    environment = psutil.Process(serving.pid).environ()
    assert (environment[MARK], "OPENAI_API_KEY" in environment) == ("a mark", False)
    assert serving.server.key not in " ".join(psutil.Process(serving.pid).cmdline())


def test_nobody_is_answered_without_its_key(serving: Serving) -> None:
    body = {"model": "smol", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    for headers in ({}, {"Authorization": "Bearer guessed"}):
        reply = httpx2.post(f"{serving.server.base_url}/chat/completions", json=body, headers=headers)
        assert reply.status_code == 401


def test_an_answer_has_its_tokens_and_a_short_cap_truncates_it(serving: Serving) -> None:
    (answer,) = serving.ask(request_of(), sampling={"temperature": 0, "max_tokens": 2, "logprobs": True})
    assert (answer.finish_reason, answer.completion_tokens) == ("length", 2)
    assert answer.prompt_tokens
    found = json.loads(answer.token_logprobs or "")
    assert "".join(each["token"] for each in found) == answer.completion


def test_repetitions_at_temperature_1_are_other_draws_and_each_can_be_drawn_again(serving: Serving) -> None:
    requests = [request_of(repetition=number) for number in (1, 2, 3, 4)]
    sampling = {"temperature": 1, "seed": 7, "max_tokens": 8}
    # one after the other: what a draw is computed beside changes its last digits
    first, again = ([serving.ask(request, sampling=sampling)[0].completion for request in requests] for _ in range(2))
    assert first == again
    assert len(set(first)) > 1


def test_a_schema_holds_and_the_prompt_shows_it(serving: Serving) -> None:
    requests = [request_of(answer_schema=SCHEMA, repetition=number) for number in range(1, 7)]
    answers = serving.ask(*requests, sampling={"temperature": 1, "seed": 1, "max_tokens": 24})
    plain = serving.ask(request_of(), sampling={"max_tokens": 1})[0]
    for answer in answers:
        assert json.loads(answer.completion or "")["label"] in LABELS
        assert json.loads(answer.sampling or "")["structured_output"] == "json_schema"
        assert (answer.prompt_tokens or 0) > (plain.prompt_tokens or 0) + len(LABELS)


def test_asked_as_any_server_it_ignores_tools_and_is_sent_the_schema_in_the_next_way(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", serving.server.key)
    made = ModelCard(
        engine="openai_api",
        model="smol",
        base_url=serving.server.base_url,
        sampling={"temperature": 0, "max_tokens": 24},
    )
    engine = OpenAIEngine(made)

    async def ask() -> list[Answer]:
        requests = [request_of(text, answer_schema=SCHEMA) for text in ("Who wrote it?", "How many moons has Mars?")]
        return [await engine.answer(request) for request in requests]

    answers = serving.do(ask())
    serving.do(engine.close())
    assert all(json.loads(answer.completion or "")["label"] in LABELS for answer in answers)
    assert [len(answer.attempts) for answer in answers] == [1, 0]
    assert engine.notes == ["its answers are no JSON where the schema is sent as function: it is sent as json_schema"]


def test_what_prompts_begin_with_alike_is_computed_once(serving: Serving) -> None:
    prompt = "Read what follows with care, and take your time. " * 20

    async def cached(text: str) -> int:
        body = {"model": "smol", "messages": [{"role": "user", "content": prompt + text}], "max_tokens": 1}
        (asking,) = serving.engine._asking
        reply = await asking.post(f"{asking.v1}/chat/completions", body)
        return int(reply["timings"]["cache_n"])

    serving.do(cached("Who wrote it?"))
    assert serving.do(cached("When was it?")) > 200


def test_options_are_as_likely_as_the_tokens_that_the_model_writes(serving: Serving) -> None:
    request = request_of(prompt=YES_NO)
    sampling = {"temperature": 0, "max_tokens": 3, "logprobs": True}
    (answer,) = serving.ask(request, sampling=sampling)
    tokens = json.loads(answer.token_logprobs or "")
    option = "".join(token["token"] for token in tokens)
    # the model's own words, told in another way; words that it would hardly write; one token, and several
    own, absurd, letter = serving.do(serving.engine.loglikelihoods(request, [option, "xylophone quartet", "A"]))
    assert own.nats == pytest.approx(sum(token["logprob"] for token in tokens), abs=0.05)
    assert (own.n_tokens, letter.n_tokens) == (len(tokens), 1)
    assert absurd.nats < letter.nats < 0
    with pytest.raises(EngineError, match=r"tells no log-likelihoods: HTTP 400: .*context"):
        serving.do(serving.engine.loglikelihoods(request_of("long " * 3000), ["yes"]))


def test_letters_are_weighed_by_one_request_beside_those_of_their_tokens(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asking,) = serving.engine._asking
    urls: list[str] = []
    post = type(asking).post

    async def counted(self: Any, url: str, body: Any) -> dict[str, Any]:
        urls.append(url.rpartition("/")[2])
        return await post(self, url, body)

    monkeypatch.setattr(type(asking), "post", counted)
    letters = ("A", "B", "C")
    question = request_of("A) red\nB) blue\nC) green", prompt="Which colour is the sky? Reply with a letter.\n")
    found = serving.do(serving.engine.loglikelihoods(question, letters))
    assert urls.count("completion") == 1
    assert [each.n_tokens for each in found] == [1, 1, 1]
    assert sum(math.exp(each.nats) for each in found) < 1
    weighed = serving.ask(
        request_of(
            "A) red\nB) blue\nC) green", prompt="Which colour is the sky? Reply with a letter.\n", replies=letters
        )
    )[0]
    kept = json.loads(weighed.option_loglikelihoods or "")
    assert [each["nats"] for each in kept] == pytest.approx([each.nats for each in found], abs=0.05)


def test_one_that_runs_is_asked_with_its_key_and_left_running(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, Any] = {"base_url": serving.server.base_url, "package": None, "llama_cpp": None}
    with pytest.raises(EngineError, match=r"HTTP 401: .*; its key is read from OPENAI_API_KEY"):
        serving.ask(request_of(), **fields)
    monkeypatch.setenv("OPENAI_API_KEY", serving.server.key)
    (answer,) = serving.ask(request_of(), **fields)
    assert answer.completion
    assert psutil.pid_exists(serving.pid)


def test_a_llama_server_of_the_users_own_is_started_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_model()
    (tmp_path / "llama-server").write_text(SERVER, encoding="utf-8")
    (tmp_path / "llama-server").chmod(0o700)
    monkeypatch.setenv("PROMPTAUDIT_LLAMA_SERVER", str(tmp_path / "llama-server"))
    engine = by_llama(print, {})
    (answer,) = asyncio.run(asked(engine, request_of()))
    assert answer.completion
    assert engine.served is not None
    assert (engine.served.engine_version or "").startswith("b")


def test_a_file_that_is_no_model_is_one_line_with_the_cause(tmp_path: Path) -> None:
    need_model()
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 200)
    made = card(package=None, gguf="bad.gguf")
    engine = LlamaServerEngine(Entry(made, tmp_path, "models/mine.yml", {}), made)
    with pytest.raises(EngineError, match=r"model 'smol': llama\.cpp ended with 1: .*gguf.*; its log: "):
        asyncio.run(asked(engine, request_of()))


def test_killed_in_mid_run_it_is_named_at_once() -> None:
    need_model()
    serving = Serving(by_llama)

    async def ask() -> list[Any]:
        asking = [serving.engine.answer(request_of(repetition=number)) for number in range(8)]
        waiting = asyncio.gather(*asking, return_exceptions=True)
        await asyncio.sleep(0.2)
        os.killpg(serving.pid, signal.SIGKILL)
        return await waiting

    outcomes = serving.do(ask())
    serving.close()
    errors = [outcome for outcome in outcomes if isinstance(outcome, EngineError)]
    assert errors
    assert all("llama.cpp was ended by SIGKILL: " in str(error) for error in errors)
    assert all(outcome.completion for outcome in outcomes if isinstance(outcome, Answer))
