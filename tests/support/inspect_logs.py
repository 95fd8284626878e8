"""Logs of inspect_ai as it lays them out, JSON or `.eval`, of samples that a test makes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def inspect_sample(
    number: int,
    said: str | None,
    asked: str | None = None,
    *,
    epoch: int = 1,
    uuid: str | None = None,
    target: str = "",
) -> dict[str, Any]:
    """A sample with one answer, none where nothing was said; it is scored as right where the answer is the target."""
    asked = asked or f"Is {number} odd?"
    message = {"role": "assistant", "content": said}
    sample = {
        "id": number,
        "epoch": epoch,
        "input": asked,
        "target": target,
        "messages": [{"role": "user", "content": asked}],
        "output": {"choices": [] if said is None else [{"message": message, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C" if said in (target, f"ANSWER: {target}") else "I"}},
    }
    return sample if uuid is None else {**sample, "uuid": uuid}


def inspect_log(path: Path, samples: Sequence[dict[str, Any]], *, eval_id: str | None = "e", **changes: Any) -> Path:
    """A log of these samples; without an `eval_id` as versions of 2024 wrote it, `changes` are to its field eval."""
    named = {} if eval_id is None else {"eval_id": eval_id}
    spec = {**named, "run_id": "r", "task": "odd", "task_id": "t", "model": "lab/m", **changes}
    log = {"version": 2, "status": "success", "eval": spec, "plan": {}}
    if path.suffix != ".eval":
        path.write_text(json.dumps({**log, "samples": samples}, indent=1))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json" if samples else "_journal/start.json", json.dumps(log))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path
