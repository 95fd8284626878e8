"""A rewording is refused with what it lost or added, and for nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.prompts.rephrasers.refusals import why_refused

ORIGINAL = "Is the text Positive or Negative? Text: {text}"
LABELS = ("Positive", "Negative", "N/A")


def test_a_good_rewording_is_kept() -> None:
    assert why_refused(ORIGINAL, "Say if {text} is Negative or Positive.", LABELS) is None


@pytest.mark.parametrize(
    ("rephrasing", "reason"),
    [
        ("", "it has no letter or digit"),
        (" \n...!", "it has no letter or digit"),
        ("Is the text Positive or not? {text}", "protected word 'Negative' is lost"),
        ("Is the text positive or Negative? {text}", "protected word 'Positive' is lost"),
        ("Is the text Positively or Negative? {text}", "protected word 'Positive' is lost"),
        ("Is it Positive or Negative?", "placeholder {text} is lost"),
        ("Is {text} Positive or Negative for {customer}?", "placeholder {customer} is new"),
        ("Positive Negative {text}" + "x" * 1000, "it has 1024 characters, at most 584 are kept"),
    ],
)
def test_the_reason_names_what_is_wrong(rephrasing: str, reason: str) -> None:
    # 4 x 46 + 400 = 584
    assert len(ORIGINAL) == 46
    assert why_refused(ORIGINAL, rephrasing, LABELS) == reason


def test_a_label_that_the_original_does_not_name_may_stay_away() -> None:
    assert why_refused("Judge the text.", "Assess the passage.", LABELS) is None
    assert why_refused("Say whether numbers occur.", "Say if figures occur.", ("number",)) is None


@pytest.mark.parametrize("label", ["C++", "N/A", "(a)", "{text}", "not sure", ".net"])
def test_labels_with_marks_at_their_edges(label: str) -> None:
    assert why_refused(f"Choose {label}, or leave it.", f"Pick {label} or leave it.", (label,)) is None
    assert why_refused(f"Choose {label}, or leave it.", "Pick it or leave it.", (label,)) is not None


def test_scripts_without_spaces_have_no_whole_words() -> None:
    assert (
        why_refused("判断是正面还是负面", "请说出是正面还是反面", ("正面", "负面")) == "protected word '负面' is lost"
    )


@given(st.text(max_size=200), st.lists(st.text(max_size=8), max_size=4))
def test_the_original_is_kept_unless_it_is_blank(text: str, words: list[str]) -> None:
    is_blank = not any(character.isalnum() for character in text)
    assert (why_refused(text, text, tuple(words)) is not None) == is_blank


@given(st.text(st.characters(exclude_characters="{}"), max_size=60), st.sampled_from(["ab", "c", "a b", "+d"]))
def test_a_label_between_spaces_is_found_wherever_it_stands(text: str, label: str) -> None:
    original = f"{text} {label} {text}"
    assert why_refused(original, "nothing of it", (label,)) == f"protected word {label!r} is lost"
    assert why_refused(original, f"{label} alone", (label,)) is None
