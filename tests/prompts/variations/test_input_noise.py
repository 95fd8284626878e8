"""Noise in inputs: at its rate, seeded by level and sample, never in labels, numbers or what the card protects."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.prompts.variations import input_noise
from promptaudit.prompts.variations.input_noise import NOISES, kept_words, noisy
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import Sample

CARD = TaskCard.model_validate(
    {"labels": ["very good", "bad"], "instruction": "Rate it.", "protected": ["Zurich"], "data": {"path": "d.csv"}}
)
WORDS = "the meal that we ordered yesterday evening arrived cold because nobody at the counter looked after it properly"
TEXT = " ".join([WORDS] * 20)


def n_changed(before: str, after: str) -> int:
    return sum(one != other for one, other in zip(before.split(), after.split(), strict=True))


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_the_share_of_words_that_may_change_is_the_rate(rate: float) -> None:
    words = TEXT.split()
    for noise, n in (("typos", sum(len(word) >= 4 for word in words)), ("case", len(words))):
        assert n_changed(TEXT, noisy(TEXT, noise, rate, frozenset(), ("x", 1))) == round(rate * n)
    spaced = noisy(TEXT, "white_space", rate, frozenset(), ("x", 1))
    assert spaced.split() == words
    # each gap gets one to three blanks more
    wider = [len(gap) - 1 for gap in re.findall(r" +", spaced) if len(gap) > 1]
    assert len(wider) == round(rate * (len(words) - 1))
    assert set(wider) <= {1, 2, 3}


def test_a_typing_error_is_a_neighbouring_key_or_two_letters_swapped() -> None:
    changed = noisy(TEXT, "typos", 1, frozenset(), ("x", 1)).split()
    kinds = set()
    for before, after in zip(TEXT.split(), changed, strict=True):
        if before == after:
            assert len(before) < 4
            continue
        assert before[0] == after[0]
        kinds.add("swapped" if sorted(before) == sorted(after) else "slip" if len(before) == len(after) else "doubled")
        if len(before) == len(after) and sorted(before) != sorted(after):
            ((one, other),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
            assert other in input_noise._NEAR[one]
    assert kinds >= {"swapped", "slip"}


def test_short_texts_change_in_one_word_and_texts_without_words_in_none() -> None:
    for noise in NOISES:
        assert noisy("A cold meal", noise, 0.01, frozenset(), ("x", 1)) != "A cold meal"
        for text in ("", "12 + 13 = ?", "x1 2y 3", "{input}", "¿?"):
            assert noisy(text, noise, 1, frozenset(), ("x", 1)) == text


def test_labels_numbers_and_protected_words_stay() -> None:
    assert kept_words(CARD) == {"very", "good", "bad", "zurich"}
    text = (
        "Very GOOD, very good food, bad service at 12b Zurich street in 2024 for 7.50 francs; see b2b and {name} here."
    )
    for noise in NOISES:
        for seed in range(40):
            shown = input_noise.shown(
                Sample(str(seed), text, None, {}), {"noise": noise, "rate": 1.0, "seed": seed}, CARD
            )
            for kept in ("Very GOOD", "very good", "bad", "12b", "Zurich", "2024", "7.50", "b2b", "{name}"):
                assert re.search(rf"(?<!\w){re.escape(kept)}(?!\w)", shown.text), (noise, kept, shown.text)


def test_noise_depends_on_level_and_sample_alone() -> None:
    def shown(noise: str, seed: int, sample_id: str) -> str:
        level = {"noise": noise, "rate": 0.2, "seed": seed}
        return input_noise.shown(Sample(sample_id, TEXT, None, {}), level, CARD).text

    for noise in NOISES:
        assert shown(noise, 1, "a") == shown(noise, 1, "a")
        assert len({shown(noise, seed, sample) for seed in (1, 2) for sample in ("a", "b")}) == 4


def test_golden_noise() -> None:
    text = "Which of these rivers flows through the old town of Zurich?"
    assert [noisy(text, noise, 0.3, frozenset(), (noise, 1, "gk-001")) for noise in NOISES] == [
        "Which of these rivers flwos through the old tkwn of Zurich?",
        "Which Of these rivers flows THROUGH the Old town of Zurich?",
        "Which of   these    rivers flows through the old   town of Zurich?",
    ]


@given(st.text(max_size=80), st.sampled_from(NOISES), st.floats(0.01, 1))
def test_any_text_keeps_its_digits_and_marks(text: str, noise: str, rate: float) -> None:
    def rest(of: str) -> str:
        return re.sub(r"[^\W\d_]|[\s'\u2019]|[\u0300-\u036f]", "", of)

    assert rest(noisy(text, noise, rate, frozenset(), ("x", 1))) == rest(text)
