"""Answers prompts without a server, by vLLM or by transformers, and writes how long that took; `measure.py` runs it.

    infra/vllm/.venv/bin/python infra/vllm/generate.py vllm|transformers REQUEST.json RESULT.json

REQUEST has `model` (a folder), `prompts` (lists of messages), `max_tokens`, `settings` (vLLM's), `seconds` (after which
transformers begins no further batch) and `has_weights`; where that is no, the weights are random. Answers are greedy.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import vllm

os.environ["HF_HUB_OFFLINE"] = "1"
BATCH = 256


def by_vllm(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tokens and seconds of all prompts in one call of vLLM's own engine, its start not counted."""
    import vllm

    weights = {} if request["has_weights"] else {"load_format": "dummy"}
    began = time.perf_counter()
    engine = vllm.LLM(model=request["model"], disable_log_stats=False, **weights, **request["settings"])
    greedy = vllm.SamplingParams(temperature=0, max_tokens=request["max_tokens"])
    engine.chat(request["prompts"][:8], greedy, use_tqdm=False)  # what is compiled at the first answers
    engine.reset_prefix_cache()
    before, started = _prefix_cache(engine), time.perf_counter()
    answers = engine.chat(request["prompts"], greedy, use_tqdm=False)
    seconds = time.perf_counter() - started
    queried, hit = (now - then for now, then in zip(_prefix_cache(engine), before, strict=True))
    return {
        "version": vllm.__version__,
        "start_seconds": started - began,
        "seconds": seconds,
        "answers": len(answers),
        "prompt_tokens": sum(len(answer.prompt_token_ids) for answer in answers),
        "completion_tokens": sum(len(answer.outputs[0].token_ids) for answer in answers),
        "prefix_cache_hit_rate": hit / queried if queried else None,
    }


def _prefix_cache(engine: vllm.LLM) -> tuple[float, float]:
    values = {metric.name: getattr(metric, "value", 0.0) for metric in engine.get_metrics()}
    return values.get("vllm:prefix_cache_queries", 0.0), values.get("vllm:prefix_cache_hits", 0.0)


def by_transformers(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tokens and seconds of as many prompts, in batches of like lengths, as are answered in `seconds`."""
    import torch
    import transformers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    began = time.perf_counter()
    tokenizer = transformers.AutoTokenizer.from_pretrained(request["model"], padding_side="left")
    if request["has_weights"]:
        model = transformers.AutoModelForCausalLM.from_pretrained(request["model"], dtype=dtype).to(device)
    else:
        config = transformers.AutoConfig.from_pretrained(request["model"])
        with torch.device(device):
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    texts = [
        tokenizer.apply_chat_template(each, tokenize=False, add_generation_prompt=True) for each in request["prompts"]
    ]
    texts.sort(key=len)
    tally = {"answers": 0, "prompt_tokens": 0, "completion_tokens": 0}
    seconds = 0.0

    def answer(batch: list[str]) -> tuple[int, int]:
        tokens = tokenizer(batch, return_tensors="pt", padding=True, add_special_tokens=False).to(device)
        with torch.inference_mode():
            written = model.generate(
                **tokens, max_new_tokens=request["max_tokens"], do_sample=False, pad_token_id=tokenizer.pad_token_id
            )[:, tokens.input_ids.shape[1] :]
        return int(tokens.attention_mask.sum()), int((written != tokenizer.pad_token_id).sum())

    answer(texts[: min(8, len(texts))])
    started = time.perf_counter()
    # every fourth batch at first, so that those that there was time for are of all lengths
    batches = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
    for batch in (each for offset in range(4) for each in batches[offset::4]):
        n_prompt, n_completion = answer(batch)
        tally["answers"] += len(batch)
        tally["prompt_tokens"] += n_prompt
        tally["completion_tokens"] += n_completion
        seconds = time.perf_counter() - started
        if seconds > request["seconds"]:
            break
    return {"version": transformers.__version__, "start_seconds": started - began, "seconds": seconds, **tally}


def main() -> None:
    """Writes the result, which names the processor that computed."""
    how, request = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    found = {"vllm": by_vllm, "transformers": by_transformers}[how](request)
    import torch

    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    Path(sys.argv[3]).write_text(json.dumps({**found, "torch": torch.__version__, "gpus": names}))


if __name__ == "__main__":
    main()
