"""Where vLLM is on this machine, which flags a card gives it, and which environment it is started in."""

from __future__ import annotations

import os
from pathlib import Path

from promptaudit.flows.settings import Settings
from promptaudit.flows.system.helper_processes import is_hidden
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.models_registry.model_cards import VllmServer

IN_CHECKOUT = Path("infra", "vllm", ".venv", "bin", "python")
SILENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
_OURS = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")  # of our environment, which is not vLLM's
_FOR_DOWNLOADS = ("HF_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN")
_NO_FLAGS = ("start_timeout_s",)  # ours to wait by


def interpreter() -> Path:
    """Returns the Python of vLLM's environment: PROMPTAUDIT_VLLM_PYTHON, else `infra/vllm/.venv/bin/python` of the checkout.

    Raises EngineError where there is none. Links are kept: a resolved one would leave its environment behind.
    """
    named = Settings().vllm_python
    python = named or Path(__file__).resolve().parents[3] / IN_CHECKOUT
    if not python.is_file():
        advice = (
            "as PROMPTAUDIT_VLLM_PYTHON says"
            if named
            else "set PROMPTAUDIT_VLLM_PYTHON to the Python of an environment with vLLM; infra/vllm has one to set up"
        )
        msg = f"no vLLM at {python}: {advice}"
        raise EngineError(msg)
    return python.absolute()


def arguments(card: ModelCard) -> list[str]:
    """Returns the model and the card's settings as flags, `--name=value` in one word, so that no value is read as a flag.

    A setting that is not written gives no flag; yes and no give `--name` and `--no-name`.
    """
    words = [f"--model={card.model}"]
    for name, value in card.vllm or VllmServer():
        if name in _NO_FLAGS or value is None:
            continue
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag}={value}")
    return words


def environment() -> dict[str, str]:
    """Returns vLLM's environment: this process's without telemetry and without keys but the one models are downloaded with.

    Whether it may download follows from the user's own HF_HUB_OFFLINE. The mark by which a killed run's processes are
    found and ended comes along.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and (name in _FOR_DOWNLOADS or not is_hidden(name))
    }
    # without the working folder on its path: a file there could stand in for any of its modules
    return {**kept, **SILENT, "PYTHONSAFEPATH": "1"}
