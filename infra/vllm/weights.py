"""Writes the model of a GGUF file as vLLM reads models: weights as safetensors, tokenizer and chat template; asks no hub.

    infra/vllm/.venv/bin/python infra/vllm/weights.py FILE.gguf FOLDER

The weights are those of the file, which rounds them to a few bits, in 32 bits each.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main() -> None:
    """Writes the folder, which is there only once it is whole."""
    gguf, folder = Path(sys.argv[1]), Path(sys.argv[2])
    unfinished = folder.with_name(f"{folder.name}.part")
    whole = GgufConfig(gguf_file=gguf.name, dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, quantization_config=whole, dtype=torch.float32
    )
    model.save_pretrained(unfinished)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(unfinished)
    unfinished.rename(folder)


if __name__ == "__main__":
    main()
