"""What the readers of a version make of texts. As a program, with the version's modules named, it says how long they take.

It imports nothing of this project but the modules that it is given, so that it runs with the code of the last release, too.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

TODAY = (
    "promptaudit.udfs.readers.reading",
    "promptaudit.udfs.scoring.math.equal",
    "promptaudit.udfs.scoring.math.final_answer",
)
RELEASED = ("udfs.reading", "udfs.scoring.math_equal", "udfs.scoring.math_text")
"""The modules of readers, of comparison and of final answers; as they were called in the last release."""
N_BEFORE = 20  # texts that are read before the time is taken: they compile what is compiled once
Asked = tuple[str, str, list[str] | None, str | None]
"""A text, its reader as a card has it, the labels, and what a person reads."""


def readings(modules: Sequence[str], reader: str, asked: Sequence[Asked]) -> list[str | None]:
    """Returns the label that a reader finds in each text; of mathematics the person's reading where the answer equals it."""
    reading, equal, answers = map(importlib.import_module, modules)
    if reader != "math_equal":
        return [reading.read_answer(text, card, labels).label for text, card, labels, _ in asked]
    with equal.MathEqual(n_processes=1) as comparison:
        return [_of_mathematics(comparison, answers, text, known) for text, _, _, known in asked]


def _of_mathematics(comparison: Any, answers: Any, text: str, known: str | None) -> str | None:
    answer = answers.final_answer(text)
    if answer is not None and known is not None and comparison.equal(text, [known]).is_equal:
        return known
    return answer if answer is not None and answers.is_mathematics(answer) else None


def main() -> None:
    """Reads `{reader: texts}` as JSON, and writes each reader's readings with its seconds of this process."""
    importlib.import_module(sys.argv[2])
    process = sys.modules.get("udfs.scoring.math_process")
    if process is not None:  # the release's worker is started without the path, and would not find its code there
        process._KEPT = [*process._KEPT, "PYTHONPATH"]  # type: ignore[attr-defined]
    done = {}
    for reader, asked in json.load(sys.stdin).items():
        readings(sys.argv[1:], reader, asked[:N_BEFORE])
        started = time.process_time()
        found = readings(sys.argv[1:], reader, asked)
        done[reader] = found, time.process_time() - started
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
