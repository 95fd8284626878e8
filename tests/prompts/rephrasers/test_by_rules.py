"""The rules: enough distinct wordings, nothing protected touched, further away as the temperature rises."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.prompts.rephrasers.refusals import why_refused
from promptaudit.registry.cards import RephraserCard

ROOT = Path(__file__).parents[3]
TEMPERATURES = (0.1, 0.5, 1, 2, 3, 5)
INSTRUCTIONS = (
    "Classify the question by the type of its answer.",
    "Rate how severe the complaint in the message is for the customer.",
    "Given a premise, decide whether the hypothesis follows from it.",
    "The text provided is a party manifesto. Your task is to evaluate whether it is left-wing or right-wing.",
    "Read the review and determine the sentiment of its author.",
    "Assign exactly one of the following categories to each response.",
    "Which stance does the text take?",
)
ODD = (
    "Ordne die Frage der Art ihrer Antwort zu",
    "Classify",
    "Sentiment",
    "42",
    "Do not guess; say what the text says.",
    "Label: {text}\n\n- one\n- two",
    "you will be given a text",
    "Cla\u017f\u017fify each que\u017ftion, don\u2019t gue\u017f\u017f",
    "Thİs İs a text",
)


def reword(
    instruction: str,
    n: int = 30,
    temperature: float | None = None,
    *,
    protected: tuple[str, ...] = (),
    round_: int = 0,
    seed: int = 0,
) -> list[str]:
    rephraser = RulesRephraser(RephraserCard(kind="rules", seed=seed))
    return list(asyncio.run(rephraser.rephrase(Wording("task", instruction, protected), n, temperature, round_)))


def word_distance(one: str, other: str) -> int:
    """Levenshtein over words."""
    a, b = one.split(), other.split()
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, 1):
        before, row = row, [i]
        for j, against in enumerate(b, 1):
            row.append(min(row[-1] + 1, before[j] + 1, before[j - 1] + (word != against)))
    return row[-1]


@pytest.mark.parametrize("temperature", [None, 0, 0.1, 1.5, 5, 100])
@pytest.mark.parametrize("instruction", [*INSTRUCTIONS, *ODD])
def test_thirty_distinct_wordings_of_any_instruction(instruction: str, temperature: float | None) -> None:
    wordings = reword(instruction, 30, temperature)
    assert len(set(wordings)) == len(wordings) == 30
    assert instruction not in wordings
    assert all(why_refused(instruction, wording, ()) is None for wording in wordings)


def test_distance_from_the_original_rises_with_the_temperature() -> None:
    def mean_distance(temperature: float) -> float:
        return statistics.mean(
            word_distance(instruction, wording) / len(instruction.split())
            for instruction in INSTRUCTIONS
            for wording in reword(instruction, 30, temperature)
        )

    distances = [mean_distance(temperature) for temperature in TEMPERATURES]
    assert all(lower < higher for lower, higher in pairwise(distances)), distances
    assert distances[0] < 0.6, "a light edit leaves most words where they are"
    assert distances[-1] > 2 * distances[0]


def test_without_a_temperature_wordings_spread_around_the_ordinary_one() -> None:
    def distances(temperature: float | None) -> list[int]:
        return [word_distance(INSTRUCTIONS[0], wording) for wording in reword(INSTRUCTIONS[0], 100, temperature)]

    assert statistics.mean(distances(0.1)) < statistics.mean(distances(None)) < statistics.mean(distances(5))


def test_fewer_wordings_are_the_first_of_more() -> None:
    assert reword(INSTRUCTIONS[0], 30, 1)[:12] == reword(INSTRUCTIONS[0], 12, 1)


def test_a_later_round_and_another_seed_propose_others() -> None:
    first = reword(INSTRUCTIONS[0], 30, 1)
    assert reword(INSTRUCTIONS[0], 30, 1, round_=1) != first
    assert reword(INSTRUCTIONS[0], 30, 1, seed=1) != first


def test_the_same_wordings_in_every_process() -> None:
    program = (
        "import asyncio, json; from promptaudit.prompts.rephrasers import Wording;"
        "from promptaudit.prompts.rephrasers.by_rules import RulesRephraser;"
        "from promptaudit.registry.cards import RephraserCard;"
        f"wording = Wording('task', {INSTRUCTIONS[1]!r}, ());"
        "print(json.dumps(list(asyncio.run("
        "RulesRephraser(RephraserCard(kind='rules')).rephrase(wording, 10, 1.0, 0)))))"
    )
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(ran.stdout) == reword(INSTRUCTIONS[1], 10, 1.0)


def test_golden_wordings() -> None:
    # variants of an old run are compared with those of a new one: a change here is a change of every audit
    assert reword(INSTRUCTIONS[0], 4, 1.0) == [
        "Please label the question by the type of its answer.",
        "Could you please classify the query by the class of its answer?",
        "Group the question by the sort of its answer.",
        "I would like you to classify the question by the type of its answer.",
    ]


@pytest.mark.parametrize("temperature", [0.1, 2, 5])
def test_protected_spans_come_through_and_none_is_brought_in(temperature: float) -> None:
    instruction = "Classify the question {question} as number or Answer, by the type of its answer."
    protected = ("number", "Answer", "query", "{question}", "Task")
    for wording in reword(instruction, 60, temperature, protected=protected):
        assert wording.count("{question}") == 1
        assert re.search(r"\bnumber\b", wording)
        assert re.search(r"\bAnswer\b", wording)
        assert not re.search(r"\bquery\b|\btask\b", wording, re.IGNORECASE)


def test_marks_of_the_mask_in_the_text_are_text() -> None:
    instruction = "Classify \ue0000\ue001 and \ue0017 of {text}."
    for wording in reword(instruction, 30, 2, protected=("{text}",)):
        assert "\ue0000\ue001 and \ue0017 of {text}" in wording


def test_what_can_be_said_in_few_ways_ends() -> None:
    wordings = reword("Sentiment", 10_000, 0.1)
    assert 1000 < len(wordings) < 10_000


@pytest.mark.parametrize("nothing", [" ", "...", "?!\n"])
def test_nothing_to_reword_gives_nothing(nothing: str) -> None:
    assert reword(nothing) == []


def test_frames_are_replaced_not_stacked() -> None:
    for wording in reword("Your task is to classify the question.", 60, 3):
        assert len(re.findall(r"[Yy]our (?:task|job|goal) is to", wording)) <= 1


@pytest.mark.parametrize(
    ("instruction", "never"),
    [
        ("You will be given a text. Classify it.", "to be given"),
        ("The following is a tweet. Guess its author.", "given is"),
        ("Choose an answer.", "an reply"),
        ("Do not guess.", "to do not"),
        ("Please do not guess.", "to do not"),
        ("Please do not guess.", "not prediction"),
        ("Don't guess.", "n't prediction"),
        ("Given a premise, judge it.", "Provided a premise"),
        ("Decide what it is.", "it's."),
        ("Say what it is", "it's"),
    ],
)
def test_what_would_be_no_english_is_not_written(instruction: str, never: str) -> None:
    wordings: Sequence[str] = [wording for t in TEMPERATURES for wording in reword(instruction, 60, t)]
    assert not [wording for wording in wordings if never in wording]


def test_sentences_take_the_shapes_they_should() -> None:
    wordings = " | ".join(reword(INSTRUCTIONS[0], 300, 3) + reword(INSTRUCTIONS[2], 100, 3))
    for shape in (
        "Please ",
        "Could you ",
        "Your task is to ",
        "You are ",
        " is to be ",
        "By the ",
        ", given a premise",
        "query",
    ):
        assert shape in wordings, shape


@settings(max_examples=80)
@given(
    st.text(min_size=1, max_size=120),
    st.lists(st.text(min_size=1, max_size=8), max_size=4),
    st.sampled_from([None, 0.0, 0.1, 1.0, 5.0]),
)
def test_whatever_is_proposed_is_new_distinct_and_kept(text: str, words: list[str], temperature: float | None) -> None:
    protected = tuple(words)
    wordings = reword(text, 8, temperature, protected=protected)
    assert len(set(wordings)) == len(wordings)
    assert text.strip() not in wordings
    assert all(why_refused(text.strip(), wording, protected) is None for wording in wordings)
    assert wordings == reword(text, 8, temperature, protected=protected)
