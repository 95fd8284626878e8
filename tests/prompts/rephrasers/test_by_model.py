"""The model rephraser: what it asks, at which temperature, and what it makes of the answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable

import pytest

from promptaudit.engines import Answer, Engine, Request
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_model import ModelRephraser, freedom, sampling_temperature
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import EngineError

WORDING = Wording("sentiment", "Is {text} Positive or {n}?", ("Positive", "Negative", "{text}"))


class Scripted(Engine):
    """An engine that answers by a function of the request."""

    max_connections = 4

    def __init__(self, answers: Callable[[Request], Answer]) -> None:
        self.answers = answers
        self.requests: list[Request] = []
        self.is_open = True

    async def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        return self.answers(request)

    async def close(self) -> None:
        self.is_open = False


class Opener:
    """Opens scripted engines and keeps them by temperature."""

    def __init__(self, answers: Callable[[Request], Answer]) -> None:
        self.answers = answers
        self.opened: list[tuple[float | None, Scripted]] = []

    def __call__(self, temperature: float | None) -> Scripted:
        self.opened.append((temperature, Scripted(self.answers)))
        return self.opened[-1][1]

    @property
    def requests(self) -> list[Request]:
        return [request for _, engine in self.opened for request in engine.requests]


def obliging(request: Request) -> Answer:
    """As many numbered texts as the prompt asks for."""
    asked = re.search(r"JSON array of (\d+) strings", request.messages[0][1])
    assert asked is not None
    return Answer(completion=json.dumps([f"{request.repetition}.{i}" for i in range(int(asked[1]))]))


def rephrase(
    opener: Opener, n: int = 3, temperature: float | None = None, round_: int = 0, **card: object
) -> list[str]:
    rephraser = ModelRephraser(RephraserCard.model_validate({"kind": "model", "model": "m", **card}), opener)

    async def run() -> list[str]:
        found = await rephraser.rephrase(WORDING, n, temperature, round_)
        await rephraser.close()
        return list(found)

    return asyncio.run(run())


def test_the_prompt_holds_the_instruction_verbatim_and_what_to_keep() -> None:
    opener = Opener(obliging)
    assert rephrase(opener) == ["1.0", "1.1", "1.2"]
    (request,) = opener.requests
    prompt = request.messages[0][1]
    assert "<instruction>\nIs {text} Positive or {n}?\n</instruction>" in prompt
    assert 'Keep these exactly as they are written: "Positive", "{text}".' in prompt
    assert (request.model_id, request.task_id, request.labels) == ("m", "sentiment", ())


@pytest.mark.parametrize(
    ("temperature", "sampled"), [(None, None), (0, 0), (0.1, 0.1), (2, 2), (2.1, 2), (5, 2), (100, 2)]
)
def test_the_sampling_temperature_stops_at_two(temperature: float | None, sampled: float | None) -> None:
    opener = Opener(obliging)
    rephrase(opener, temperature=temperature)
    assert [at for at, _ in opener.opened] == [sampled] == [sampling_temperature(temperature)]
    assert opener.requests[0].paraphrase_temperature == temperature


def test_the_prompt_asks_for_more_freedom_step_by_step() -> None:
    sentences = [freedom(temperature) for temperature in (0, 0.3, 0.31, 1, 1.01, 2, 2.01, 3.5, 3.51, 5)]
    steps = [sentence.partition(" On a scale")[0] for sentence in sentences]
    assert steps == [sentence for sentence in dict.fromkeys(steps) for _ in range(2)]
    assert len(set(steps)) == 5
    assert freedom(None) == freedom(1.5).partition(" On a scale")[0]
    opener = Opener(obliging)
    rephrase(opener, temperature=5)
    assert freedom(5) in opener.requests[0].messages[0][1]


@pytest.mark.parametrize("instructions", [None, "Reword {instruction} {n} times."])
def test_no_two_temperatures_send_the_same(instructions: str | None) -> None:
    opener, card = Opener(obliging if instructions is None else lambda _: Answer(completion='["x"]')), {}
    if instructions is not None:
        card["instructions"] = instructions
    temperatures = [round(0.1 + 0.2 * step, 1) for step in range(24)] + [5.0]
    sent = set()
    for temperature in temperatures:
        rephrase(opener, temperature=temperature, **card)
        request = opener.requests[-1]
        sent.add((sampling_temperature(temperature), request.messages, request.repetition))  # which moves the seed
    assert len(sent) == len(temperatures) == 25


def test_long_lists_are_asked_for_in_parts_that_differ() -> None:
    opener = Opener(obliging)
    assert len(set(rephrase(opener, n=60))) == 60
    assert len(opener.opened) == 1
    assert len({request.request_sha256 for request in opener.requests}) == 3
    rephrase(opener, n=60, round_=1)
    assert len({request.messages[0][1].partition("these are set ")[2] for request in opener.requests}) == 6
    assert len({request.repetition for request in opener.requests}) == 6  # which moves the seed


def test_a_later_round_asks_for_others() -> None:
    opener = Opener(obliging)
    rephrase(opener, round_=1)
    assert "set 2" in opener.requests[0].messages[0][1]


def test_one_engine_a_sampling_temperature_and_all_are_closed() -> None:
    opener = Opener(obliging)
    rephraser = ModelRephraser(RephraserCard(kind="model", model="m"), opener)

    async def run() -> None:
        for temperature in (0.5, 3.0, 0.5, 4.0, None):
            await rephraser.rephrase(WORDING, 2, temperature, 0)
        assert all(engine.is_open for _, engine in opener.opened)
        await rephraser.close()
        await rephraser.close()

    asyncio.run(run())
    assert [at for at, _ in opener.opened] == [0.5, 2, None]
    assert not any(engine.is_open for _, engine in opener.opened)


def test_the_cards_own_instructions_are_used() -> None:
    opener = Opener(lambda _: Answer(completion='["other"]'))
    assert rephrase(opener, instructions="Reword {instruction} {n} times; keep {braces}.") == ["other"]
    assert opener.requests[0].messages == (("user", "Reword Is {text} Positive or {n}? 3 times; keep {braces}."),)


def test_a_try_used_up_or_no_list_gives_fewer() -> None:
    assert rephrase(Opener(lambda _: Answer())) == []
    assert rephrase(Opener(lambda _: Answer(completion="I cannot do that."))) == []


def test_a_permanent_error_stops_with_its_reason() -> None:
    with pytest.raises(EngineError, match="model 'm' cannot reword the instruction of 'sentiment': content filter"):
        rephrase(Opener(lambda _: Answer(error="content filter")))
