"""Where vLLM is for the tests that start it, a tiny model for it, and which of its processes run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from promptaudit.engines.vllm import command_line
from promptaudit.registry.cards import ModelCard

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("PROMPTAUDIT_VLLM_PYTHON") or ROOT / command_line.IN_CHECKOUT)
QUICK = {  # a quick start instead of quick answers
    "PROMPTAUDIT_VLLM_PYTHON": str(PYTHON),
    "TORCH_COMPILE_DISABLE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "HF_HUB_OFFLINE": "1",
}
SMALL = {"dtype": "float32", "max_model_len": 1024, "max_num_seqs": 8, "gpu_memory_utilization": 0.1}


@cache
def has_vllm() -> bool:
    """Whether vLLM can be imported where it should be."""
    return (
        PYTHON.is_file()
        and not subprocess.run([PYTHON, "-c", "import vllm"], capture_output=True, check=False).returncode
    )


def need_vllm() -> None:
    """Skips the test where vLLM is not installed."""
    if not has_vllm():
        pytest.skip(f"no vLLM at {PYTHON}; infra/vllm has an environment to set up")


def make_tiny(folder: Path) -> Path:
    """The tiny model in `folder`; the test skips where vLLM is not installed."""
    need_vllm()
    subprocess.run([PYTHON, ROOT / "tests/support/tiny_model.py", folder], check=True, capture_output=True)
    return folder


def card(model: object = "m", **fields: Any) -> ModelCard:
    """A card of a model that vLLM is started for, small."""
    return ModelCard(engine="vllm_server", model=str(model), **{"vllm": SMALL} | fields)


def group(leader: int) -> list[psutil.Process]:
    """The living processes of a process group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, ProcessLookupError):
            continue
    return found


def servers(model: Path) -> list[int]:
    """The process ids of the servers that were started for a model."""
    found = []
    for process in psutil.process_iter():
        try:
            if f"--model={model}" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for what has to become true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
