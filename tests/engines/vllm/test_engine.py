"""The engine of vLLM's server, on a real one with a tiny model, where vLLM is installed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from promptaudit.engines import Answer
from promptaudit.engines.vllm import loglikelihoods
from promptaudit.engines.vllm.engine import VllmServerEngine
from promptaudit.registry.errors import EngineError
from promptaudit.system.child_processes import MARK
from promptaudit.udfs.scoring.option_loglikelihood import from_loglikelihoods
from tests.support.engine_requests import LABELS, request_of
from tests.support.serving import MakeEngine, Serving, asked
from tests.support.vllm import QUICK, ROOT, card, group, make_tiny, need_vllm, servers, until

pytestmark = pytest.mark.slow
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"label": {"type": "string", "enum": list(LABELS)}},
        "required": ["label"],
        "additionalProperties": False,
    }
)
START, END = "<|im_start|>", "<|im_end|>"  # of the tiny model's chat template


def by_vllm(model: Path) -> MakeEngine:
    return lambda say, fields: VllmServerEngine(card(model, **fields), say=say)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module", autouse=True)
def _temporary() -> Iterator[None]:
    """Temporary files in a folder that goes, logs that errors name among them; pytest's own is too deep for sockets."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        yield


@pytest.fixture(scope="module")
def serving(model: Path) -> Iterator[Serving]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**QUICK, MARK: "a mark", "OPENAI_API_KEY": "sk-paid"}.items():
            patch.setenv(name, value)
        serving = Serving(by_vllm(model))
    yield serving
    serving.close()
    assert servers(model) == []


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


def test_it_starts_and_says_what_it_serves(serving: Serving, model: Path) -> None:
    served = serving.engine.served
    assert served is not None
    assert serving.server.base_url == f"http://{served.endpoint}/v1"
    assert served.endpoint.startswith("127.0.0.1:")
    assert (served.served_model, served.context_length) == (str(model), 1024)
    assert served.engine_version
    assert served.engine_version[0].isdigit()
    starting, answers = serving.said
    assert starting.endswith(f"its log: {serving.server.log}")
    assert "vLLM answers after " in answers
    environment = psutil.Process(serving.pid).environ()
    assert environment["TMPDIR"] == str(serving.server.log.parent)
    assert (environment[MARK], environment["DO_NOT_TRACK"], "OPENAI_API_KEY" in environment) == ("a mark", "1", False)


def test_a_seed_is_an_answer_and_repetitions_are_others(serving: Serving, model: Path) -> None:
    requests = [request_of(repetition=number) for number in (1, 2, 3)] * 2
    answers = serving.ask(*requests, sampling={"temperature": 1, "seed": 7, "max_tokens": 12})
    first, again = answers[:3], answers[3:]
    assert [answer.completion for answer in first] == [answer.completion for answer in again]
    assert len({answer.completion for answer in first}) == 3
    for answer in answers:
        assert (answer.error, answer.attempts, answer.served_model) == (None, (), str(model))
        assert answer.prompt_tokens
        assert 0 < (answer.completion_tokens or 0) <= 12
        assert (answer.system_fingerprint or "").startswith("vllm-")


def test_structured_answers_are_json_with_a_label_and_end_by_themselves(serving: Serving) -> None:
    requests = [request_of(answer_schema=SCHEMA, repetition=number) for number in range(1, 25)]
    answers = serving.ask(*requests, sampling={"temperature": 1, "seed": 1})
    for answer in answers:
        assert answer.completion is not None
        assert json.loads(answer.completion).keys() == {"label"}
        assert json.loads(answer.completion)["label"] in LABELS
        assert " " not in answer.completion
        assert answer.finish_reason == "stop"
        assert json.loads(answer.sampling or "")["structured_output"] == "structured_outputs"
    assert len({answer.completion for answer in answers}) > 1


def test_a_structured_answer_is_capped_where_the_card_has_no_cap(serving: Serving) -> None:
    # an array longer than the cap
    numbers = {"type": "array", "items": {"type": "integer"}, "minItems": 300}
    schema = json.dumps({"type": "object", "properties": {"numbers": numbers}, "required": ["numbers"]})
    requests = [request_of(answer_schema=schema, repetition=number) for number in range(1, 5)]
    answers = serving.ask(*requests, sampling={"temperature": 1, "seed": 1})
    assert {(answer.finish_reason, answer.completion_tokens) for answer in answers} == {("length", 256)}


def test_a_prompt_longer_than_the_context_is_an_error_of_its_own(serving: Serving) -> None:
    long, short = serving.ask(request_of("long " * 3000), request_of(), sampling={"max_tokens": 2})
    assert (long.completion, long.attempts, short.error) == (None, (), None)
    assert "This model's maximum context length is 1024 tokens" in (long.error or "")
    assert short.completion


def test_options_are_as_likely_as_the_servers_own_completions_say(serving: Serving, model: Path) -> None:
    request, options = request_of(), ["person", "number", "an entity, or so", " person"]
    found = serving.do(serving.engine.loglikelihoods(request, options))
    (_, content), *_ = request.messages
    prompt = f"{START}user\n{content}{END}\n{START}assistant\n"
    for option, likely in zip(options, found, strict=True):
        body = {
            "model": str(model),
            "prompt": prompt + option,
            "echo": True,
            "max_tokens": 0,
            "logprobs": 0,
            "add_special_tokens": False,
        }
        headers = {"Authorization": f"Bearer {serving.server.key}"}
        reply = httpx2.post(f"{serving.server.base_url}/completions", json=body, headers=headers, timeout=60).json()
        logprobs = reply["choices"][0]["logprobs"]
        pairs = zip(logprobs["text_offset"], logprobs["token_logprobs"], strict=True)
        of_option = [nats for offset, nats in pairs if offset >= len(prompt)]
        assert likely.nats == pytest.approx(sum(of_option), abs=1e-4)
        assert likely.n_tokens == len(of_option)
    assert len({likely.n_tokens for likely in found}) > 1
    with pytest.raises(EngineError, match=r"tells no log-likelihoods: HTTP 400: .*maximum context length"):
        serving.do(serving.engine.loglikelihoods(request_of("long " * 3000), ["person"]))


def test_letters_are_weighed_by_one_request_from_the_second_prompt_on(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, n_posts = loglikelihoods._post, 0

    async def counted(*line: Any) -> dict[str, Any]:
        nonlocal n_posts
        n_posts += 1
        return await post(*line)

    monkeypatch.setattr(loglikelihoods, "_post", counted)
    letters = ("A", "B", "C")
    serving.do(serving.engine.loglikelihoods(request_of("one"), letters))
    assert n_posts == 1 + len(letters)
    at_once = serving.do(serving.engine.loglikelihoods(request_of("two"), letters))
    assert n_posts == 2 + len(letters)
    serving.engine._single_tokens.clear()
    each = serving.do(serving.engine.loglikelihoods(request_of("two"), letters))
    assert [likely.nats for likely in at_once] == pytest.approx([likely.nats for likely in each], abs=1e-4)
    assert [likely.n_tokens for likely in at_once] == [1, 1, 1]
    # of several tokens, or asked in a way that the server refuses: one request an option
    n_posts = 0
    for content in ("one", "two"):
        serving.do(serving.engine.loglikelihoods(request_of(content), ("A", "a reply of several words")))
    assert n_posts == 2 * 3
    serving.engine._single_tokens[letters] = (10**9, 10**9 + 1, 10**9 + 2)
    again = serving.do(serving.engine.loglikelihoods(request_of("two"), letters))
    assert [likely.nats for likely in again] == pytest.approx([likely.nats for likely in each], abs=1e-4)
    assert serving.engine._single_tokens[letters] is None


def test_options_are_weighed_beside_the_answer(serving: Serving) -> None:
    replies = ("(a)", "(b)", "a reply of several words")
    weighed, plain = serving.ask(
        request_of(replies=replies), request_of(), sampling={"temperature": 0, "max_tokens": 2}
    )
    assert weighed.completion == plain.completion
    assert plain.option_loglikelihoods is None
    found = json.loads(weighed.option_loglikelihoods or "")
    likely = serving.do(serving.engine.loglikelihoods(request_of(), replies))
    assert [option["nats"] for option in found] == pytest.approx([each.nats for each in likely], abs=1e-4)
    assert [option["n_tokens"] for option in found] == [each.n_tokens for each in likely]
    assert [option["n_characters"] for option in found] == [3, 3, 24]
    # whichever rule weighs them, one is the likeliest; by token it may be another than as a whole
    for units in (None, [option["n_tokens"] for option in found], [3, 3, 24]):
        assert from_loglikelihoods([option["nats"] for option in found], units).index in (0, 1, 2)


def test_one_that_runs_is_asked_and_left_running(
    serving: Serving, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base_url = serving.server.base_url
    stranger = VllmServerEngine(card(model, base_url=base_url))
    with pytest.raises(EngineError, match=r"HTTP 401: Unauthorized; its key is read from OPENAI_API_KEY"):
        serving.do(stranger.open())
    serving.do(stranger.close())
    monkeypatch.setenv("OPENAI_API_KEY", serving.server.key)
    engine = VllmServerEngine(card(model, base_url=base_url, sampling={"max_tokens": 4}))
    serving.do(engine.open())
    assert engine.served == serving.engine.served
    assert serving.do(engine.answer(request_of())).completion
    serving.do(engine.close())
    serving.do(engine.close())
    assert httpx2.get(f"{base_url.removesuffix('/v1')}/health").is_success
    other = VllmServerEngine(card("tiny-llama", base_url=base_url))
    with pytest.raises(EngineError, match=r"model 'tiny-llama' at 127\.0\.0\.1:\d+: it serves no such model; "):
        serving.do(other.open())
    serving.do(other.close())


def test_two_engines_share_one_server(serving: Serving, model: Path) -> None:
    assert [answer.error for answer in serving.ask(request_of(), sampling={"temperature": 2, "max_tokens": 1})] == [
        None
    ]
    assert servers(model) == [serving.pid]


@pytest.mark.usefixtures("_quick")
def test_a_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    need_vllm()
    began = time.monotonic()
    with pytest.raises(EngineError, match=r"vLLM ended with 1: .*Error.*/nowhere.*; its log: "):
        asyncio.run(asked(VllmServerEngine(card(tmp_path / "nowhere"))))
    assert time.monotonic() - began < 60
    assert servers(tmp_path / "nowhere") == []


def test_killed_in_mid_run_it_is_named_at_once(serving: Serving) -> None:
    # the last that asks this server: it takes it along
    log = serving.server.log
    waiting = [serving.engine.answer(request_of(repetition=number)) for number in range(16)]

    async def ask() -> list[Any]:
        asking = asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(1)
        os.killpg(serving.pid, signal.SIGKILL)
        return await asking

    began = time.monotonic()
    outcomes = serving.do(ask())
    assert time.monotonic() - began < 10
    errors = [outcome for outcome in outcomes if isinstance(outcome, EngineError)]
    assert errors
    assert all("vLLM was ended by SIGKILL: " in str(error) for error in errors)
    assert all(str(error).endswith(f"its log: {log}") for error in errors)
    assert any(error.attempts for error in errors)
    with pytest.raises(EngineError, match="SIGKILL"):
        serving.do(serving.engine.answer(request_of()))
    serving.close()
    assert list(log.parent.iterdir()) == [log]


@pytest.mark.usefixtures("_quick")
def test_stopped_in_mid_answer_it_lands_no_part_of_one(model: Path) -> None:
    # one that is stopped says 200 and "abort", says 500, or keeps the connection and says nothing
    serving = Serving(by_vllm(model), sampling={"temperature": 1}, limits={"timeout_s": 5})
    log = serving.server.log

    async def ask() -> list[Any]:
        asking = asyncio.gather(*(serving.engine.answer(request_of()) for _ in range(16)), return_exceptions=True)
        await asyncio.sleep(1)
        os.kill(serving.pid, signal.SIGTERM)
        return await asking

    outcomes = serving.do(ask())
    serving.close()
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, EngineError)]
    assert len(answers) + len(errors) == 16
    assert {answer.finish_reason for answer in answers} <= {"stop", "length"}
    assert errors
    assert all("vLLM ended with 0: " in str(error) and error.attempts for error in errors)
    assert list(log.parent.iterdir()) == [log]
    assert servers(model) == []


def test_nothing_is_left_of_a_killed_run(model: Path) -> None:
    text = (
        "import asyncio, sys\nfrom promptaudit.engines.vllm.engine import VllmServerEngine\n"
        "from promptaudit.system.child_processes import guarded\n"
        "from tests.support.vllm import card\n\nasync def hold():\n    engine = VllmServerEngine(card(sys.argv[1]))\n"
        "    await engine.open()\n    print(engine._server._process.pid, flush=True)\n    await asyncio.sleep(600)\n\n"
        "with guarded():\n    asyncio.run(hold())\n"
    )
    environment = {**os.environ, **QUICK}
    with subprocess.Popen(
        [sys.executable, "-c", text, str(model)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as holding:
        assert holding.stdout is not None
        leader = int(holding.stdout.readline())
        # its engine is a process of its own, which outlives it
        assert len(group(leader)) > 1
        holding.kill()
        holding.wait()
        until(lambda: not group(leader), 15)
