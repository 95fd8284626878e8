"""Says of a model and its answers what DOVE's schema asks: its context window, its quantization, how its answers were drawn."""

from __future__ import annotations

import json
import re
from typing import Any

from promptaudit.flows.query.dove_answer import DoveAnswer

_HUB_PATH = re.compile(r"[\w.-]+/[\w.-]+")
_PRECISIONS = ("float16", "float32")


def model_section(row: DoveAnswer) -> dict[str, Any]:
    """Returns the section `model` of an answer.

    The schema demands a context window: that of a model which vLLM serves is what its card says, any other's is at least what
    the longest of its answers took together with the prompt, and at least 1. Where a card says nothing of the type of the
    weights there is no quantization.
    """
    card = json.loads(row.model_card or "{}")
    vllm = card.get("vllm") or {}
    is_of_vllm = card.get("engine") == "vllm_server" or bool(vllm)
    name = str(card.get("model") or "")
    dtype = vllm.get("dtype")
    sent = json.loads(row.sampling or "{}")
    return {
        "model_info": {"name": row.model},
        "configuration": {
            "context_window": int(
                vllm.get("max_model_len") or (card.get("llama_cpp") or {}).get("context") or row.context_tokens or 1
            ),
            "hf_path": name if is_of_vllm and _HUB_PATH.fullmatch(name) else None,
            "revision": vllm.get("revision"),
        },
        "inference_settings": {
            "quantization": {"bit_precision": dtype if dtype in _PRECISIONS else "none", "method": "None"},
            "generation_args": {
                "use_vllm": is_of_vllm,
                "temperature": sent.get("temperature"),
                "top_p": sent.get("top_p"),
                "max_tokens": sent.get("max_tokens") or sent.get("max_completion_tokens"),
                "stop_sequences": list(sent.get("stop") or ()),
            },
        },
    }
