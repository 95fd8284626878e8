"""Finds vLLM on this machine, and builds the flags and the environment that it is started with."""

from __future__ import annotations

from pathlib import Path

from promptaudit.engines.local_server.launch import Launch, environment
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.model_cards import VllmServer
from promptaudit.system.settings import Settings

MODULE = "vllm.entrypoints.openai.api_server"  # deprecated, but `vllm serve` fails without a distribution called vllm
FLAGS = (
    # between two tokens of JSON a model may write white space up to its cap; no request can forbid it, this can
    '--structured-outputs-config={"backend":"xgrammar","disable_any_whitespace":true}',
    "--disable-uvicorn-access-log",  # a line a request
)
IN_CHECKOUT = Path("infra", "vllm", ".venv", "bin", "python")
SILENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
_FOR_DOWNLOADS = ("HF_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN")
_NO_FLAGS = ("start_timeout_s",)  # used here and unknown to vLLM


def interpreter() -> Path:
    """Finds the Python of vLLM: PROMPTAUDIT_VLLM_PYTHON, else `infra/vllm/.venv/bin/python` of the checkout.

    Raises EngineError if there is none. Links are kept: a resolved one would leave its environment behind.
    """
    named = Settings().vllm_python
    python = named or Path(__file__).resolve().parents[4] / IN_CHECKOUT
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
    """Writes model and settings as flags, `--name=value` in one word, so that no value is read as a flag.

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


def launch_of(card: ModelCard) -> Launch:
    """Builds the launch of vLLM for a card, under the card's name of the model. Raises EngineError if there is no vLLM.

    The user's own HF_HUB_OFFLINE decides whether it may download, and the one key for downloads is passed on.
    """
    python, model = interpreter(), arguments(card)

    def words(port: int) -> list[str]:
        served = [f"--served-model-name={card.model}", "--host=127.0.0.1", f"--port={port}"]
        return [str(python), "-m", MODULE, *model, *served, *FLAGS]

    return Launch(
        program="vLLM",
        model=card.model,
        settings=("vllm", *model),
        words=words,
        environment=vllm_environment(),
        key_variable="VLLM_API_KEY",
        timeout_s=(card.vllm or VllmServer()).start_timeout_s,
    )


def vllm_environment() -> dict[str, str]:
    """Builds vLLM's environment, without telemetry and without any key except the one for downloads of models."""
    return {**environment(_FOR_DOWNLOADS), **SILENT}
