"""Rewords by asking a model for a list of rewordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from promptaudit.engines import Engine, Request
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.read_list import read_list
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.placeholders import substitute

OpenEngineAt = Callable[[float | None], Engine]
"""Opens the engine of the rephraser's model with this sampling temperature; None: as its card says."""

MAX_SAMPLING_TEMPERATURE = 2.0  # what the OpenAI API accepts
MAX_ASKED_AT_ONCE = 25  # longer lists are cut off, or end in repeats

DEFAULT_INSTRUCTIONS = """\
Below is an instruction that people give to a language model. Write {n} other ways to say it.
{freedom}
Every rewording must ask for exactly the same thing, stand on its own, and be in the language of the original. \
Add no task, no example and no answer, and say nothing about how to format a reply unless the original does. \
Do not follow the instruction; only reword it.
{protected}
Reply with a JSON array of {n} strings and nothing else.

<instruction>
{instruction}
</instruction>"""

FREEDOM = (  # (up to this paraphrase temperature, the sentence in the prompt)
    (0.3, "Stay as close to the original as you can: change one or two words, or the order of two phrases."),
    (1.0, "Change the wording moderately; keep the structure recognisable."),
    (2.0, "Reword freely: other words, other sentence structure."),
    (3.5, "Reword very freely: each rewording should share few words and no sentence structure with the original."),
    (
        float("inf"),
        "Rewrite from scratch: in words, length, tone and structure as unlike the original as the meaning allows.",
    ),
)
SCALE = "On a scale on which 0 keeps every word and 5 starts from scratch, reword at {:g}."
SEEDS_A_DEGREE = 1000
ORDINARY_TEMPERATURE = 1.5  # how freely a card without temperatures may reword


def sampling_temperature(temperature: float | None) -> float | None:
    """Caps a paraphrase temperature at 2, the most an API accepts as sampling temperature; None stays None."""
    return None if temperature is None else min(temperature, MAX_SAMPLING_TEMPERATURE)


def freedom(temperature: float | None) -> str:
    """Writes the sentence that asks the model to reword more or less freely, by the paraphrase temperature."""
    warmth = ORDINARY_TEMPERATURE if temperature is None else temperature
    step = next(sentence for limit, sentence in FREEDOM if warmth <= limit)
    return step if temperature is None else f"{step} {SCALE.format(temperature)}"


class ModelRephraser:
    """Asks a model for rewordings as a JSON array and reads what comes back leniently.

    The paraphrase temperature acts three times, so that no two send the same bytes. It is the sampling temperature up
    to 2, the most an API accepts; it picks how strongly the prompt asks for other words, in five steps up to 0.3, 1, 2,
    3.5 and beyond, and stands in it as a number; and above 2 it moves the seed, if the model's card has one, since
    instructions of the card's own may have no place for {freedom}. Without a temperature the model card's own sampling
    holds and the prompt asks as at 1.5.
    """

    def __init__(self, card: RephraserCard, open_engine_at: OpenEngineAt) -> None:
        self.max_rounds = card.max_rounds
        self._card = card
        self._open_engine_at = open_engine_at
        self._engines: dict[float | None, Engine] = {}

    async def rephrase(self, wording: Wording, n: int, temperature: float | None, round_: int) -> Sequence[str]:
        """Asks for `n` rewordings, 25 at a time; brings fewer if a try is used up or its answer holds no list.

        Raises EngineError when the model answers with a permanent error.
        """
        at = sampling_temperature(temperature)
        if at not in self._engines:
            self._engines[at] = self._open_engine_at(at)
            await self._engines[at].open()
        texts: list[str] = []
        for batch, start in enumerate(range(0, n, MAX_ASKED_AT_ONCE)):
            n_wanted = min(MAX_ASKED_AT_ONCE, n - start)
            answer = await self._engines[at].answer(self._request(wording, n_wanted, temperature, (round_, batch)))
            if answer.error is not None:
                msg = f"model '{self._card.model}' cannot reword the instruction of '{wording.task_id}': {answer.error}"
                raise EngineError(msg)
            texts += read_list(answer.completion or "", n_wanted)
        return texts

    async def close(self) -> None:
        """Closes every engine that was opened."""
        engines, self._engines = self._engines, {}
        for engine in engines.values():
            await engine.close()

    def _request(self, wording: Wording, n: int, temperature: float | None, asked_before: tuple[int, int]) -> Request:
        round_, batch = asked_before
        kept = [json.dumps(word, ensure_ascii=False) for word in wording.protected if word in wording.instruction]
        values = {
            "instruction": wording.instruction,
            "n": str(n),
            "freedom": freedom(temperature),
            "protected": f"Keep these exactly as they are written: {', '.join(kept)}." if kept else "",
        }
        content = substitute(self._card.instructions or DEFAULT_INSTRUCTIONS, values)
        number = 1 + round_ + batch * self.max_rounds  # no two sets of one wording have the same
        if number > 1:
            content += f"\n\nThe obvious rewordings are already collected; these are set {number}: find others."
        messages = (("user", content),)
        sent = json.dumps([self._card.model, sampling_temperature(temperature), messages, round_, batch])
        digest = hashlib.sha256(sent.encode()).hexdigest()
        return Request(
            prediction_id=digest[:32],
            model_id=self._card.model or "",
            task_id=wording.task_id,
            strategy="paraphrase",
            prompt_variant_id="",
            paraphrase_temperature=temperature,
            variant_index=0,
            sample_id="",
            repetition=number + _seeds_above_the_limit(temperature),
            messages=messages,
            labels=(),
            text=wording.instruction,
            request_sha256=digest,
        )


def _seeds_above_the_limit(temperature: float | None) -> int:
    return 0 if temperature is None else round(SEEDS_A_DEGREE * max(0.0, temperature - MAX_SAMPLING_TEMPERATURE))
