"""Rate of each scoring rule on a million completions, and as a ratio to a plain peer in the same run."""

from __future__ import annotations

import json
import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from promptaudit.udfs.readers.option_letter import read_options
from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.scoring.option_loglikelihood import first_token, from_loglikelihoods, from_top_logprobs
from promptaudit.udfs.scoring.token_f1 import token_f1
from promptaudit.udfs.scoring.verdict import read_verdict

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

Make = Callable[[random.Random, int], list[Any]]
Rule = Callable[[Sequence[Any]], object]

N_COMPLETIONS = 1_000_000
BATCH = 10_000
OTHERS_EVERY = 10  # batches: what a rule is compared with takes one of these
SIGNS = ("A", "B", "C", "D")
LABELS = ("number", "location", "person", "entity", "description")
WORDS = """
the a of in to and is it that was for on are as with they at be this from have or by one had not but what all were
when we there can an your which their said if do will each about how up out them then she many some so these would
other into has more her two like him see time could no make than first been its who now people my made over did down
only way find use may water long little very after words called just where most know treaty years fifty signed capital
city country passage author value energy because must number larger smaller correct option both reason describes
therefore increases temperature
"""
VOCABULARY = WORDS.split()
COMMITMENTS = (
    *("The answer is {}.", "The correct answer is ({}).", "Therefore, the correct option is **{}**.", "Answer: {}"),
    *(
        "So the answer is {}, because the text says so.",
        "I would choose option {}.",
        "{} is correct.",
        "Final answer: {}",
    ),
    *(
        "\n\nThe answer is:\n\n**{}**",
        "Hence the answer is \\boxed{{{}}}.",
        "I think it is {}.",
        "\n\nAnswer: {}) fifty years",
    ),
)
OPENINGS = ("{}\n\n", "{}. fifty years\n\n", "({}) ", "The answer is {}. ", "**{}**\n\n", "Option {} is correct. ")
WITHOUT = (
    "I cannot tell which option is meant.",
    "It is not {}.",
    "The passage does not say.",
    "Either {} or D is correct.",
)


def prose(dice: random.Random, n_characters: int) -> str:
    sentences, n = [], 0
    while n < n_characters:
        words = " ".join(dice.choices(VOCABULARY, k=dice.randint(6, 16)))
        sentences.append(f"{words.capitalize()}{', since option A is wrong' if dice.random() < 0.2 else ''}.")
        n += len(sentences[-1]) + 1
    return " ".join(sentences)


def replies(dice: random.Random, n: int) -> list[str]:
    """Of 100 to 300 characters: six in ten end in a choice, three begin with one, one has none."""
    made = []
    for _ in range(n):
        kind, sign = dice.random(), dice.choice(SIGNS)
        text = prose(dice, dice.randint(80, 220))
        if kind < 0.6:
            text = f"{text} {dice.choice(COMMITMENTS).format(sign)}"
        elif kind < 0.9:
            text = f"{dice.choice(OPENINGS).format(sign)}{text}"
        else:
            text = f"{text} {dice.choice(WITHOUT).format(sign)}"
        made.append(text)
    return made


def short_answers(dice: random.Random, n: int) -> list[str]:
    return [" ".join(dice.choices(VOCABULARY, k=dice.randint(1, 5))) + dice.choice(("", ".", "!")) for _ in range(n)]


def labels(dice: random.Random, n: int) -> list[str]:
    return [dice.choice(("{}", " {}\n", "{}.", "It is {}")).format(dice.choice(LABELS)) for _ in range(n)]


def verdicts(dice: random.Random, n: int) -> list[str]:
    return [json.dumps({"reason": prose(dice, 60), "match": dice.random() < 0.5}) for _ in range(n)]


def logprobs(dice: random.Random, n: int) -> list[str]:
    """A first token with four likeliest ones, and four tokens behind it."""
    made = []
    for _ in range(n):
        top = [{"token": f" {sign}", "logprob": round(-dice.random() * 5, 6)} for sign in SIGNS]
        made.append(json.dumps([{**top[0], "top_logprobs": top}] * 5, separators=(",", ":")))
    return made


def log_likelihoods(dice: random.Random, n: int) -> list[list[float]]:
    return [[-20 * dice.random() for _ in SIGNS] for _ in range(n)]


def last_letter(completion: str) -> str | None:
    """What evaluation scripts do in one line: the last capital that stands alone."""
    found = re.findall(r"\b([A-D])\b", completion)
    return found[-1] if found else None


def textbook_f1(completion: str, references: Sequence[str]) -> float:
    """SQuAD's F1 as its definition reads, one step after the other."""

    def tokens(text: str) -> list[str]:
        plain = "".join(character for character in text.lower() if character not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", plain).split()

    def f1(reference: str) -> float:
        own, others = tokens(completion), tokens(reference)
        n_shared = sum((Counter(own) & Counter(others)).values())
        if n_shared == 0:
            return float(own == others)
        precision, recall = n_shared / len(own), n_shared / len(others)
        return 2 * precision * recall / (precision + recall)

    return max(f1(reference) for reference in references)


def rates(make: Make, rule: Rule, *others: Rule) -> list[float]:
    """Completions a second (of this process, not of the clock) of the rule over all and of others over a tenth of them."""
    dice, taken = random.Random(0), [0.0] * (1 + len(others))
    for batch in range(N_COMPLETIONS // BATCH):
        completions = make(dice, BATCH)
        for place, each in enumerate((rule, *others)[: None if batch % OTHERS_EVERY == 0 else 1]):
            started = time.process_time()
            each(completions)
            taken[place] += time.process_time() - started
    n_others = len(range(0, N_COMPLETIONS // BATCH, OTHERS_EVERY)) * BATCH
    return [N_COMPLETIONS / taken[0], *(n_others / seconds for seconds in taken[1:])]


def one_by_one(rule: Callable[[Any], object]) -> Rule:
    def read(completions: Sequence[Any]) -> None:
        for completion in completions:
            rule(completion)

    return read


def test_label_match() -> None:
    match = one_by_one(lambda text: read_answer(text, '"exact"', LABELS))
    own, peer = rates(labels, match, one_by_one(lambda text: text.strip() in LABELS))
    print(f"\nlabel_match: {own:,.0f} completions/s; {peer / own:.0f} times the time of comparing strings")
    assert own > peer / 100


def test_option_letter() -> None:
    sample = replies(random.Random(1), 1_000)
    n_characters = sum(map(len, sample)) / len(sample)
    n_read = sum(reading.index is not None for reading in read_options(sample, SIGNS))
    own, peer = rates(replies, lambda texts: read_options(texts, SIGNS), one_by_one(last_letter))
    print(f"\noption_letter: {own:,.0f} completions/s of {n_characters:.0f} characters,", end=" ")
    print(f"{n_read / 10:.1f} % of them read; {peer / own:.0f} times the time of a search for the last letter")
    assert n_read > 850  # nine in ten commit
    assert own > peer / 100


def test_token_f1() -> None:
    references = ("fifty years", "half a century")
    for completion in short_answers(random.Random(1), 1_000):
        assert token_f1(completion, references) == pytest.approx(textbook_f1(completion, references))
    own, peer = rates(
        short_answers,
        one_by_one(lambda text: token_f1(text, references)),
        one_by_one(lambda text: textbook_f1(text, references)),
    )
    print(f"\ntoken_f1: {own:,.0f} completions/s; {own / peer:.1f} times faster than the textbook's steps")
    assert own > 3 * peer


def test_option_loglikelihood() -> None:
    n_tokens = (1, 2, 2, 3)
    of_options, plain = rates(
        log_likelihoods,
        one_by_one(lambda nats: from_loglikelihoods(nats, n_tokens)),
        one_by_one(lambda nats: nats.index(max(nats))),
    )
    of_tokens, whole = rates(
        logprobs, one_by_one(lambda text: from_top_logprobs(first_token(text), SIGNS)), one_by_one(json.loads)
    )
    print(f"\noption_loglikelihood: {of_options:,.0f} completions/s by the options' log-likelihoods,", end=" ")
    print(f"{plain / of_options:.0f} times the time of index(max());", end=" ")
    print(f"{of_tokens:,.0f} by the first token, {whole / of_tokens:.1f} times the time of json.loads of all five")
    assert of_options > plain / 50
    assert of_tokens > whole / 5


def test_verdict() -> None:
    own, peer = rates(verdicts, one_by_one(read_verdict), one_by_one(json.loads))
    print(f"\nverdict: {own:,.0f} completions/s; {peer / own:.1f} times the time of json.loads")
    assert own > peer / 5
