from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.report.answers_grid.signs import MOST_SIGN, signs_of


@pytest.mark.parametrize(
    ("labels", "signs"),
    [
        (("A", "B", "10"), ["A", "B", "10"]),
        (("red", "green", "blue", "none of these"), ["R", "G", "B", "N"]),
        (("positive", "neutral", "negative"), ["A", "B", "C"]),  # two begin with the same two letters
        (("number", "naming"), ["Nu", "Na"]),
        (("<b>x</b>", "<b>y</b>"), ["Bx", "By"]),
        (("<<<>>>", "אדום", "red"), ["A", "B", "C"]),
        ((), []),
    ],
)
def test_signs_are_the_labels_their_first_letters_or_their_places(labels: tuple[str, ...], signs: list[str]) -> None:
    assert signs_of(labels) == signs


@given(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=900))
def test_no_two_labels_share_a_sign(labels: list[str]) -> None:
    signs = signs_of(labels)
    assert len(set(signs)) == len(signs) == len(labels)
    assert all(0 < len(sign) <= MOST_SIGN and sign.isprintable() for sign in signs)
