"""The example of the first screen: two answers that differ, to two prompts that differ."""

from __future__ import annotations

from typing import Any

import pytest

from promptaudit.report.summary_example import pair_of


def said(variant: str, label: str | None, **others: Any) -> dict[str, Any]:
    row = {
        "prompt_variant_id": variant,
        "label": label,
        "is_correct": label == "a",
        "is_original": False,
        "instruction": "Say a or b.",
        "variation": "wording",
    }
    return {**row, **others}


@pytest.mark.parametrize("kind", ["format", "option_order", "system"])
def test_variants_of_one_instruction_that_differ_in_another_respect_are_a_pair(kind: str) -> None:
    # the original has no answer
    rows = [said("f1", "a", variation=kind), said("f2", "b", variation=kind)]
    assert pair_of(rows) == tuple(rows)


def test_one_wording_under_two_temperatures_is_no_pair() -> None:
    assert pair_of([said("w1", "a"), said("w2", "b")]) is None
    assert pair_of([said("w1", "a", variation=None), said("w2", "b", variation=None)]) is None
    other = said("w3", "b", instruction="Choose a or b.")
    assert pair_of([said("w1", "a"), said("w2", "b"), other]) == (said("w1", "a"), other)


def test_two_originals_are_one_wording() -> None:
    assert pair_of([said("o1", "a", is_original=True), said("o2", "b", is_original=True)]) is None
