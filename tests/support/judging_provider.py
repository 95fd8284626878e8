"""A provider on loopback of a model that answers short facts, and of a judge of them that may be swapped behind its name."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.loopback import QuietHandler, completion_of, served_in_threads

FACTS = Path(__file__).parents[2] / "models_registry/datasets/short_facts.csv"
SAID = ("{}", "{}", "It is {}.", "I believe that the answer to this is {}.")


@dataclass
class JudgingProvider:
    """A started provider; what a test sets holds from the next request on.

    The model `small` knows four of five facts, and says half of them in a sentence. The judge `rater` rules right what names a
    reference anywhere; a harsh one nothing but the reference itself.
    """

    base_url: str
    judge: str = "rater-2026-01-01"
    is_harsh: bool = False
    knows: int = 80  # of a hundred

    def answer(self, prompt: str) -> str:
        """What the model says: the same to the same prompt."""
        question = next(each for each in self.facts if each in prompt)
        draw = int(hashlib.sha256(prompt.encode()).hexdigest()[:8], 16)
        return SAID[draw % 4].format(self.facts[question] if draw // 4 % 100 < self.knows else "Ruritania")

    def rule(self, prompt: str) -> str:
        """What the judge replies."""
        mark = re.findall(r"^===== [0-9a-f]{16} =====$", prompt, re.MULTILINE)[0]
        said = prompt.split(mark)[-2].strip().casefold()
        listed = prompt.split("Reference answers:\n")[1].split("\n\n", maxsplit=1)[0]
        references = [line.removeprefix("- ").casefold() for line in listed.splitlines()]
        words = f" {re.sub(r'[^a-z0-9]+', ' ', said)} "
        named = [each for each in references if f" {re.sub(r'[^a-z0-9]+', ' ', each).strip()} " in words]
        return json.dumps({"reason": "as told", "match": said in references if self.is_harsh else bool(named)})

    @property
    def facts(self) -> dict[str, str]:
        """The questions with their answers."""
        with FACTS.open(newline="") as file:
            return {row["question"]: row["answer"] for row in csv.DictReader(file)}


@contextlib.contextmanager
def running_judging_provider() -> Iterator[JudgingProvider]:
    """Starts a provider on a free port and ends it."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked = self.asked()
            prompt, is_judge = asked["messages"][-1]["content"], asked["model"] == "rater"
            content = provider.rule(prompt) if is_judge else provider.answer(prompt)
            model = provider.judge if is_judge else "small-2026-01-01"
            self.send_json({**completion_of(content), "model": model})

    with served_in_threads(Handler) as port:
        provider = JudgingProvider(f"http://127.0.0.1:{port}/v1")
        yield provider
