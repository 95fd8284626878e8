"""Embedded annotators: the same answers whatever the order, true to their distributions, and quick."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from promptaudit.engines import Answer, Engine, Question, Request, open_engine
from promptaudit.engines.embedded.engine import open_annotator
from promptaudit.engines.embedded.lexical import without_input
from promptaudit.engines.embedded.simulated import INVALID, distribution_of
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.registry import Entry
from promptaudit.udfs.readers.reading import read_answer
from tests.support.engine_requests import LABELS, PROMPT, request_of
from tests.support.shell import outputs_by_hash_seed

DETAIL = """Classify the question by the type of its answer. Reply with the label alone.
- number: a count, date, amount, price, distance, speed or percentage; how many, how much, how long, when, what year
- location: a place such as a city, country, state, mountain or river; where
- person: a human being or a group, by name or title; who, whose
- description: a definition, reason, manner or explanation; why, how does, what is meant, define
- entity: an animal, food, colour, book, film, game, plant, product, language or other thing; which, what kind of
- abbreviation: a short form or what it stands for; acronym, stand for, letters

Question: """
QUESTIONS = [
    ("How many moons does Mars have?", "number"),
    ("When was the telephone invented?", "number"),
    ("What year did the war end?", "number"),
    ("How much does a loaf of bread cost?", "number"),
    ("What is the distance from Earth to the Moon?", "number"),
    ("Where is the Great Barrier Reef?", "location"),
    ("What country borders Spain to the west?", "location"),
    ("What city hosted the 1936 games?", "location"),
    ("What mountain is the highest in Africa?", "location"),
    ("Where did the fire of 1666 start?", "location"),
    ("Who wrote The Old Man and the Sea?", "person"),
    ("Who was the first woman in space?", "person"),
    ("Whose portrait hangs behind the desk?", "person"),
    ("What is the name of the queen's title?", "person"),
    ("Who discovered penicillin?", "person"),
    ("Why is the sky blue?", "description"),
    ("What is the definition of inertia?", "description"),
    ("How does a compass work?", "description"),
    ("What is meant by due process?", "description"),
    ("Why do leaves fall?", "description"),
    ("What colour is a ripe lemon?", "entity"),
    ("What animal sleeps standing?", "entity"),
    ("Which language do Brazilians speak?", "entity"),
    ("What kind of plant is bamboo?", "entity"),
    ("What game is played with a shuttlecock?", "entity"),
    ("What does NASA stand for?", "abbreviation"),
    ("What is the abbreviation of limited?", "abbreviation"),
    ("What do the letters DNA stand for?", "abbreviation"),
    ("What is the acronym of the trade body?", "abbreviation"),
    ("What does CPR stand for?", "abbreviation"),
]


def card(model: str, **fields: Any) -> ModelCard:
    return ModelCard(engine="embedded", model=model, **fields)


def answers(engine: Engine, requests: list[Request]) -> list[Answer]:
    async def ask() -> list[Answer]:
        return [await engine.answer(request) for request in requests]

    return asyncio.run(ask())


def completions(engine: Engine, requests: list[Request]) -> list[str | None]:
    return [answer.completion for answer in answers(engine, requests)]


def grid(samples: int, variants: int, repetitions: int) -> list[Request]:
    return [
        request_of(sample_id=f"s{s}", prompt_variant_id=f"v{v}", variant_index=v, repetition=r)
        for s in range(samples)
        for v in range(variants)
        for r in range(1, repetitions + 1)
    ]


def test_lexical_is_far_above_chance_with_descriptions() -> None:
    found = completions(open_annotator(card("lexical")), [request_of(q, prompt=DETAIL) for q, _ in QUESTIONS])
    right = sum(label == gold for label, (_, gold) in zip(found, QUESTIONS, strict=True))
    assert right / len(QUESTIONS) >= 0.6  # chance is 1/6


def test_lexical_learns_from_examples() -> None:
    prompt = "".join(f"Question: {q}\nAnswer: {label}\n\n" for q, label in QUESTIONS[::5]) + "Question: "
    asked = [(q, label) for index, (q, label) in enumerate(QUESTIONS) if index % 5]
    found = completions(open_annotator(card("lexical")), [request_of(q, prompt=prompt) for q, _ in asked])
    right = sum(label == gold for label, (_, gold) in zip(found, asked, strict=True))
    assert right / len(asked) >= 0.4


def test_lexical_changes_some_answers_with_the_wording_but_not_most() -> None:
    reworded = DETAIL.replace("a count, date, amount, price", "any quantity or point in time")
    reworded = reworded.replace("a place such as", "somewhere:")
    engine = open_annotator(card("lexical"))
    first = completions(engine, [request_of(q, prompt=DETAIL) for q, _ in QUESTIONS])
    second = completions(engine, [request_of(q, prompt=reworded) for q, _ in QUESTIONS])
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    assert 0 < changed < len(QUESTIONS) / 2


def test_lexical_answers_every_repetition_alike_and_only_with_labels() -> None:
    engine = open_annotator(card("lexical"))
    texts = ["", "?", "number", "1234", "日本の首都はどこですか", "\ud800", "a" * 50_000, "person " * 100]
    for text in texts:
        once, again = completions(engine, [request_of(text, repetition=r) for r in (1, 2)])
        assert once == again
        assert once in LABELS


def test_the_input_is_taken_out_of_the_prompt_but_words_of_the_prompt_are_not() -> None:
    question = "How many people live in Lima, Peru?"
    assert without_input(f"Q: {question} Again: {question}", question) == "Q:   Again:  "
    assert without_input("Labels: person, number.\nInput: person", "person") == "Labels: person, number.\nInput:  "
    assert without_input("Labels: persons", "person") == "Labels: persons"
    assert without_input("Labels: a", "  ") == "Labels: a"


def test_lexical_answers_5000_requests_a_second() -> None:
    engine = open_annotator(card("lexical"))
    variants = [f"Variant {v}. {DETAIL}" for v in range(10)]
    requests = [request_of(q, prompt=prompt, sample_id=q) for prompt in variants for q, _ in QUESTIONS] * 10
    started = time.perf_counter()
    completions(engine, requests)
    # a third of what it does on an idle core
    assert len(requests) / (time.perf_counter() - started) > 1700


@pytest.mark.parametrize(
    "made",
    [
        card("lexical"),
        card("random", seed=3),
        card("simulated", simulated={"distributions": [{"number": 0.5, "person": 0.3}, {"entity": 1}]}),
    ],
)
def test_answers_do_not_depend_on_order(made: ModelCard) -> None:
    requests = grid(20, 3, 2)
    forwards = completions(open_annotator(made), requests)
    backwards = completions(open_annotator(made), requests[::-1])
    assert forwards == backwards[::-1]


def test_answers_do_not_depend_on_the_process() -> None:
    code = (
        "import asyncio; from tests.engines.embedded.test_annotators import *;"
        "made = [card('random', seed=5), card('lexical')];"
        "asked = [request_of(q, prompt=DETAIL, sample_id=q) for q, _ in QUESTIONS];"
        "print([completions(open_annotator(m), asked) for m in made])"
    )
    outputs = outputs_by_hash_seed(code)
    assert "number" in outputs[0]
    assert outputs[0] == outputs[1]


def test_a_label_is_put_into_the_json_that_its_task_reads() -> None:
    question = Question("x", json_field="verdict.größe")
    (answer,) = completions(open_annotator(card("lexical")), [request_of(question=question)])
    assert json.loads(answer) in [{"verdict": {"größe": label}} for label in LABELS]
    assert read_answer(answer, json.dumps({"json_field": "verdict.größe"}), LABELS).label in LABELS
    (outside,) = completions(open_annotator(card("random", invalid=True)), [request_of(question=question, labels=())])
    assert outside == ""


def test_noise_replaces_a_label_in_json_by_another_one() -> None:
    asked = [request_of(question=Question("x", json_field="f"), sample_id=f"s{n}") for n in range(40)]
    noisy = open_annotator(card("noisy", of="m", rate=1), lambda *_: '{"f": "number"}')
    assert {json.loads(answer)["f"] for answer in completions(noisy, asked)} == set(LABELS) - {"number"}


def test_random_is_uniform_and_its_seed_matters() -> None:
    requests = grid(100, 20, 3)
    found = completions(open_annotator(card("random", seed=1)), requests)
    # 6,000 draws over 6 labels: 1,000 each, standard deviation 29; five of them
    assert all(abs(count - 1000) < 145 for count in Counter(found).values())
    assert set(found) == set(LABELS)
    other = completions(open_annotator(card("random", seed=2)), requests)
    # two independent draws agree on 1 in 6: 1,000 of 6,000
    assert abs(sum(a == b for a, b in zip(found, other, strict=True)) - 1000) < 145


def test_random_answers_with_no_label_as_often_as_with_each_where_its_card_says_so() -> None:
    found = Counter(completions(open_annotator(card("random", seed=1, invalid=True)), grid(100, 20, 3)))
    # 6,000 draws over 6 labels and none: 857 each, standard deviation 27; five of them
    assert set(found) == {*LABELS, ""}
    assert all(abs(count - 857) < 136 for count in found.values())


def test_two_random_cards_of_one_seed_draw_apart() -> None:
    engine = open_annotator(card("random"))
    first = completions(engine, grid(50, 10, 1))
    second = completions(engine, [request_of(**{**_cell(r), "model_id": "other"}) for r in grid(50, 10, 1)])
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 150  # 83 expected of 500


def _cell(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in ("sample_id", "prompt_variant_id", "variant_index", "repetition")}


def test_simulated_draws_its_distribution_and_calls_the_rest_invalid() -> None:
    made = card("simulated", simulated={"distributions": [{"number": 0.5, "person": 0.3}], "samples": {"s0": 0}})
    counts = Counter(completions(open_annotator(made), grid(1, 200, 50)))
    # 10,000 draws: 5,000, 3,000 and 2,000; standard deviations 50, 46 and 40
    assert abs(counts["number"] - 5000) < 250
    assert abs(counts["person"] - 3000) < 230
    assert abs(counts[INVALID] - 2000) < 200
    assert counts.total() == counts["number"] + counts["person"] + counts[INVALID]


def test_simulated_repetitions_are_independent() -> None:
    made = card("simulated", simulated={"distributions": [{"a": 0.5, "b": 0.5}]})
    found = completions(open_annotator(made), grid(1, 2000, 2))
    alike = sum(a == b for a, b in zip(found[::2], found[1::2], strict=True))
    assert abs(alike - 1000) < 112  # 2,000 pairs, half of them alike: standard deviation 22


def test_distribution_of_a_sample_is_the_one_named_or_hashed() -> None:
    made = card("simulated", simulated={"distributions": [{"a": 1}, {"b": 1}], "samples": {"x": 1}})
    assert distribution_of(made, "x") == {"b": 1}
    spread = Counter(next(iter(distribution_of(made, f"id{i}"))) for i in range(1000))
    assert abs(spread["a"] - 500) < 80
    for sample_id in ("id0", "id1", "id2", "id3"):
        (label,) = distribution_of(made, sample_id)
        assert completions(open_annotator(made), [request_of(sample_id=sample_id)]) == [label]


@pytest.mark.parametrize("index", [2, -1])
def test_a_sample_pointing_at_no_distribution_is_refused_by_the_card(index: int) -> None:
    with pytest.raises(ValidationError, match=f"'x' names distribution {index} of 2"):
        card("simulated", simulated={"distributions": [{"a": 1}, {"b": 1}], "samples": {"x": index}})


def test_thirds_leave_no_invalid_answers() -> None:
    made = card("simulated", simulated={"distributions": [dict.fromkeys("abc", 1 / 3)]})
    assert INVALID not in completions(open_annotator(made), grid(1, 100, 50))


def test_noisy_replaces_its_share_by_other_labels_and_leaves_the_rest_verbatim() -> None:
    made = card("noisy", of="base", rate=0.25)
    asked: list[str] = []

    def landed(model_id: str, request: Request) -> str | None:
        asked.append(f"{model_id} {request.task_id}")
        return " number \n"

    counts = Counter(completions(open_annotator(made, landed), grid(40, 50, 2)))
    assert set(asked) == {"base question_type"}
    assert abs(counts[" number \n"] - 3000) < 195  # of 4,000; standard deviation 27, seven of them
    others = set(counts) - {" number \n"}
    assert others == set(LABELS) - {"number"}
    assert all(abs(counts[label] - 200) < 100 for label in others)


@pytest.mark.parametrize(("rate", "kept"), [(0.0, True), (1.0, False)])
def test_noisy_at_its_ends(rate: float, kept: bool) -> None:
    engine = open_annotator(card("noisy", of="base", rate=rate), lambda *_: "number")
    assert all((found == "number") is kept for found in completions(engine, grid(10, 10, 1)))


def test_noisy_leaves_a_cell_without_a_base_answer_missing() -> None:
    (answer,) = answers(open_annotator(card("noisy", of="base", rate=1), lambda *_: None), [request_of()])
    assert answer == Answer()
    assert not answer.is_landed


@pytest.mark.parametrize(
    ("prompt", "text", "is_said"),
    [
        ("Explain in one sentence which kind it is.", "What is it?", True),
        ("Name the kind, and your reason.", "What is it?", True),
        ("Name the kind.\n\nWhy does ice float on water?", "Why does ice float on water?", False),  # the sample asks it
        ("Name the kind without an explanation.", "What is it?", False),
    ],
)
def test_talkative_gives_a_reason_where_the_prompt_asks_for_one(prompt: str, text: str, is_said: bool) -> None:
    engine = open_annotator(card("talkative", of="base"), lambda *_: " number\n")
    (found,) = completions(engine, [request_of(prompt=prompt, text=text)])
    assert (found == " number\n") is not is_said
    assert ("speak for number more" in found) is is_said
    (missing,) = answers(open_annotator(card("talkative", of="base"), lambda *_: None), [request_of(prompt=prompt)])
    assert not missing.is_landed


def test_noisy_needs_landed_answers() -> None:
    with pytest.raises(ValueError, match="landed"):
        open_annotator(card("noisy", of="base", rate=1))


def test_an_embedded_answer_says_who_served_it_and_how_long_it_took() -> None:
    (answer,) = answers(open_annotator(card("lexical")), [request_of(prompt=PROMPT)])
    assert (answer.served_model, answer.prompt_tokens, answer.completion_tokens) == ("promptaudit/lexical", None, None)
    assert answer.latency_ms is not None
    assert answer.latency_ms > 0


def test_embedded_audits_import_no_client() -> None:
    code = (
        "import sys; from pathlib import Path; from promptaudit.engines import open_engine;"
        "from promptaudit.registry.cards import ModelCard; from promptaudit.registry.registry import Entry;"
        "[open_engine(Entry(ModelCard(engine='embedded', model=m), Path(), 'x.yml', {})) for m in ('lexical', 'random')];"
        "print(sorted({'openai', 'aiohttp', 'httpx2', 'polars', 'duckdb'} & set(sys.modules)))"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_open_engine_opens_annotators() -> None:
    engine = open_engine(Entry(card("random", limits={"max_connections": 3}), Path(), "x.yml", {}))
    assert engine.max_connections == 3
    assert completions(engine, [request_of()])[0] in LABELS
