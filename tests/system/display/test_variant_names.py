"""Variants are named by number, temperature and kind."""

from __future__ import annotations

import pytest

from promptaudit.system.display.variant_names import named, numbered, word_for


@pytest.mark.parametrize(
    ("temperature", "variation", "number", "name"),
    [
        (None, None, "3", "wording 3"),  # of an import
        (0.5, "wording", "3 at 0.5", "wording 3 at 0.5"),
        (None, "template", "3", "wording 3"),
        (None, "option_order", "3 (option order)", "variant 3 (option order)"),
        (None, "crossed", "3 (crossed)", "variant 3 (crossed)"),
    ],
)
def test_a_variant_of_another_kind_is_no_wording(
    temperature: float | None, variation: str | None, number: str, name: str
) -> None:
    row = {"variant_index": 3, "paraphrase_temperature": temperature, "is_original": False, "variation": variation}
    assert (numbered(row), named(row)) == (number, name)
    assert named({**row, "is_original": True}) == "the original wording"


def test_variants_are_called_wordings_where_nothing_else_differs() -> None:
    words, order = (
        [{"variation": "original"}, {"variation": "wording"}, {"variation": None}],
        {"variation": "option_order"},
    )
    assert word_for(words) == word_for([]) == "wording"
    assert word_for([*words, order]) == "prompt"
