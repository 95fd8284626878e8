"""vLLM's run_batch: how it is started, what its absence says, and a real run of a tiny model where vLLM is installed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from promptaudit.flows.engines import Answer
from promptaudit.flows.engines.batches.protocol import BatchStatus
from promptaudit.flows.engines.batches.vllm_batches import MODULE, VllmBatch
from promptaudit.flows.engines.vllm import command_line
from promptaudit.flows.system.child_processes import MARK
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.models_registry.model_cards import VllmServer
from tests.support.batch_audit import ask, query, states, write_cards
from tests.support.engine_requests import request_of
from tests.support.vllm import PYTHON, ROOT, group, make_tiny, until

# a quick start instead of quick answers, and an eighth of a small machine's memory
QUICK = {"TORCH_COMPILE_DISABLE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
SMALL = {"dtype": "float32", "max_model_len": 512, "max_num_seqs": 16}
BATCHING = {"runner": "vllm", "poll_s": 1}
RUN = {"promptaudit_run": "r1", "promptaudit_model": "m"}


def card(model: str = "m", **fields: Any) -> ModelCard:
    return ModelCard(engine="batch", model=model, batch=BATCHING, **fields)


# ---------------------------------------------------------------- how it is started
def test_each_setting_of_a_card_is_a_flag_in_one_word() -> None:
    every = VllmServer(
        max_model_len=512,
        dtype="float32",
        max_num_seqs=16,
        gpu_memory_utilization=0.5,
        tensor_parallel_size=2,
        data_parallel_size=3,
        enable_prefix_caching=False,
        revision="main",
        start_timeout_s=60,
    )
    assert command_line.arguments(card("--trust-remote-code", vllm=every)) == [
        "--model=--trust-remote-code",
        "--max-model-len=512",
        "--dtype=float32",
        "--max-num-seqs=16",
        "--gpu-memory-utilization=0.5",
        "--tensor-parallel-size=2",
        "--data-parallel-size=3",
        "--no-enable-prefix-caching",
        "--revision=main",
    ]
    assert command_line.arguments(card()) == ["--model=m", "--dtype=auto"]
    # a setting that is added to the card is a flag by its name; this list is to be looked at then
    assert set(VllmServer.model_fields) - set(every.model_fields_set) == set()


def test_its_environment_has_the_guards_mark_and_no_key_but_that_of_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        MARK: "mark",
        "HF_TOKEN": "hf",
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "sk",
        "MY_SECRET": "s",
        "AWS_SECRET_ACCESS_KEY": "a",
        "VIRTUAL_ENV": "x",
        "PYTHONPATH": "x",
        "TOKENIZERS_PARALLELISM": "false",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    made = command_line.vllm_environment()
    kept = {MARK, "HF_TOKEN", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM"}
    assert {name for name in given if name in made} == kept
    assert (made["VLLM_NO_USAGE_STATS"], made["DO_NOT_TRACK"], made["PYTHONSAFEPATH"]) == ("1", "1", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert "HF_HUB_OFFLINE" not in command_line.vllm_environment()


def test_no_vllm_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", str(tmp_path / "python"))
    with pytest.raises(EngineError, match=f"no vLLM at {tmp_path}/python: as PROMPTAUDIT_VLLM_PYTHON says"):
        VllmBatch(card(), tmp_path)


def test_a_python_without_vllm_is_one_line_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", sys.executable)
    write_cards(tmp_path, "", 2, batch={"runner": "vllm"})
    said: list[str] = []
    with pytest.raises(EngineError, match=r"vLLM ended with 1: ModuleNotFoundError: No module named 'vllm'"):
        asyncio.run(ask(tmp_path, said))
    assert states(tmp_path) == [["submitted", "in_progress", "failed", "collected"]]
    assert list((tmp_path / "batches").iterdir()) == []


def test_a_batch_whose_folder_is_gone_is_handed_over_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", sys.executable)

    async def run() -> tuple[BatchStatus | None, list[Any]]:
        batches = VllmBatch(card(), tmp_path)
        return await batches.look("vllm-0"), [pair async for pair in batches.answers("vllm-0")]

    seen, answers = asyncio.run(run())
    assert seen == BatchStatus(state="lost", is_ended=True, n_requests=0, n_done=0, error="its folder is gone")
    assert answers == []


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            (
                "(EngineCore pid=7) ERROR ValueError: Available memory on node 0 is less\nTraceback (most recent call last)\n"
                "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
            ),
            "ValueError: Available memory on node 0 is less",
        ),
        (
            (
                "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
                "  Value error, User-specified max_model_len (9) is greater [type=value_error]\n    For further information\n"
            ),
            "Value error, User-specified max_model_len (9) is greater [type=value_error]",
        ),
        ("run_batch.py: error: argument --dtype: invalid choice\n", "error: argument --dtype: invalid choice"),
        ("one\ntwo\n", "two"),
        ("", "it said nothing"),
    ],
)
def test_the_line_of_a_log_that_says_why(tmp_path: Path, log: str, words: str) -> None:
    from promptaudit.flows.engines.local_server.log import last_words

    (tmp_path / "log.txt").write_text(log)
    assert last_words(tmp_path / "log.txt") == words


# ---------------------------------------------------------------- the real thing
@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny language model in a folder, where vLLM is installed."""
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_VLLM_PYTHON", str(PYTHON))
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


def leaders(folder: Path) -> list[int]:
    """Processes of run_batch on files of `folder`, each the leader of a group of its own."""
    found = []
    for process in psutil.process_iter():
        try:
            if MODULE in process.cmdline() and any(str(folder) in word for word in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
def test_a_tiny_model_answers_a_batch(model: Path, tmp_path: Path) -> None:
    made = card(str(model), vllm=SMALL, sampling={"temperature": 0, "max_tokens": 24, "seed": 1})
    schema = json.dumps({"type": "string", "enum": ["person", "number"]})
    requests = [request_of(f"question {n % 50}", prediction_id=f"{n:032x}") for n in range(200)]
    requests += [
        request_of("long " * 3000, prediction_id="long"),
        request_of(answer_schema=schema, prediction_id="schema"),
    ]

    async def run() -> tuple[BatchStatus, dict[str, Answer]]:
        batches = VllmBatch(made, tmp_path)
        try:
            with batches.draft() as draft:
                assert all(draft.add(request) for request in requests)
                batch_id = await batches.submit(draft, RUN)
            assert await batches.find(RUN) == [batch_id]
            while (seen := await batches.look(batch_id)) is not None and not seen.is_ended:
                await batches.wait(60)
            assert seen is not None
            answers = {name: answer async for name, answer in batches.answers(batch_id)}
            assert batches.refused is None
            await batches.forget(batch_id)
        finally:
            await batches.close()
        return seen, answers

    seen, answers = asyncio.run(run())
    assert (seen.state, seen.n_requests, seen.n_done) == ("completed", 202, 202)
    assert len(answers) == 202
    assert answers["long"].error is not None
    assert "maximum context length is 512 tokens" in answers["long"].error
    assert json.loads(answers["schema"].completion or "") in ("person", "number")
    plain = [answers[f"{n:032x}"] for n in range(200)]
    assert all(answer.completion and answer.served_model == str(model) for answer in plain)
    assert all(answer.prompt_tokens and 0 < (answer.completion_tokens or 0) <= 24 for answer in plain)
    # equal questions, equal answers: at temperature 0
    assert [answer.completion for answer in plain[:50]] == [answer.completion for answer in plain[150:]]
    assert (list(tmp_path.iterdir()), leaders(tmp_path)) == ([], [])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_quick")
def test_interrupted_or_killed_it_leaves_no_process_and_starts_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_ENABLE_V1_MULTIPROCESSING")  # with its workers, which rename themselves
    fields = {"vllm": SMALL, "sampling": {"temperature": 1, "seed": 1, "max_tokens": 300}, "batch": BATCHING}
    write_cards(tmp_path, "", 50, model=str(model), **fields)
    text = (
        "import asyncio, pathlib, sys\nfrom promptaudit.flows.system.child_processes import guarded\n"
        "from tests.support.batch_audit import ask\n"
        "with guarded():\n    asyncio.run(ask(pathlib.Path(sys.argv[1])))\n"
    )
    for how, sign in ((signal.SIGINT, "vLLM"), (signal.SIGKILL, "Running batch:")):
        process = subprocess.Popen([sys.executable, "-c", text, str(tmp_path)], cwd=ROOT, stderr=subprocess.DEVNULL)
        until(lambda: bool(leaders(tmp_path)))
        (leader,) = leaders(tmp_path)
        until(lambda: any(sign in path.read_text() for path in tmp_path.glob("batches/*/log.txt")), 150)  # noqa: B023
        process.send_signal(how)
        process.wait(60)
        until(lambda: not group(leader), 20)  # noqa: B023 - called at once
    said: list[str] = []
    asyncio.run(ask(tmp_path, said))
    assert said[0] == "nightly: batches that were handed over before: 1"
    assert query(tmp_path, "select count(*), count(completion) from raw.predictions") == [(150, 150)]
    assert query(tmp_path, "select count(distinct batch_id) from raw.batches") == [(1,)]
    assert states(tmp_path)[0][-1] == "collected"
    assert list((tmp_path / "batches").iterdir()) == []
