"""Examples are found in the prompts that show them, however these are written, and nothing is made up where they are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from promptaudit.prompts.put_samples import Prompter
from promptaudit.prompts.shown_examples import LandedVariant, examples_in, shown_examples, with_texts
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import ChosenSamples, Sample

TASK = TaskCard.model_validate(
    {
        "labels": ["good", "bad"],
        "instruction": "Rate it.",
        "output_format": "Reply with one of {kinds}.",
        "messages": [
            {"role": "system", "content": "Be fair."},
            {"role": "user", "content": "{instruction} {output_format}\n\nText: {input}"},
        ],
        "data": {"path": "d.csv"},
    }
)
EXAMPLES = {"good": "A {fine} one\n-> bad idea", "bad": "Poor {input}"}
SPARE = tuple(Sample(f"{label}{n}", f"{label} text {n}", label, {}) for label in ("good", "bad") for n in range(2))
CHOSEN = ChosenSamples((), EXAMPLES, SPARE)
FORMS: list[dict[str, Any]] = [
    {},
    {"label_order": "reversed"},
    {
        "format": {
            "casing": "upper",
            "separator": " - ",
            "spacing": "\n|| ",
            "between": " | ",
            "bullet": "* ",
            "arrow": " => ",
        }
    },
    {"system": None},
    {"input_noise": {"noise": "case", "rate": 0.5, "seed": 1}},
]
ROWS = {"examples": {"rows": ["good1", "bad1", "good0", "bad0"], "order": None}}


def landed(
    setting: Mapping[str, Any],
    strategy: str = "one_shot",
    instruction: str = "Say {input} what?",
    chosen: ChosenSamples = CHOSEN,
) -> LandedVariant:
    """A row of raw.prompt_variants as far as its prompt."""
    text = json.dumps(setting)
    prompter = Prompter(TASK, chosen, strategy=strategy, instruction=instruction, template=None, setting=text)
    return LandedVariant(
        prompt_variant_id="v",
        task_id="t",
        strategy=strategy,
        instruction=instruction,
        prompt=prompter.left_open,
        answer_schema=None,
        template=None,
        setting=text,
    )


def reworded(variant: LandedVariant, old: str, new: str) -> LandedVariant:
    return replace(variant, prompt=(variant.prompt or "").replace(old, new))


@pytest.mark.parametrize("form", [{}, FORMS[2]])
def test_the_example_of_extraction_is_told_apart_with_its_answer(form: dict[str, Any]) -> None:
    fields = {"total": "number", "note": "exact"}
    data = {"instruction": "Read it.", "output_format": "Reply in JSON.", "fields": fields, "data": {"path": "d.csv"}}
    card = TaskCard.model_validate({"kind": "extraction", **data})
    chosen = ChosenSamples((), {'{"total": "1.50", "note": " x\\ny"}': "Pay {input}\n=> 1.50"})
    setting = json.dumps(form)
    prompter = Prompter(card, chosen, strategy="one_shot", instruction="Read.", template=None, setting=setting)
    variant = replace(landed({}, instruction="Read."), prompt=prompter.left_open, setting=setting)
    found = examples_in(card, variant)
    assert found.examples == {'{"total": 1.5, "note": "x\\ny"}': "Pay {input}\n=> 1.50"}
    again = Prompter(card, found, strategy="one_shot", instruction="Read.", template=None, setting=setting)
    assert again.left_open == variant.prompt


@pytest.mark.parametrize("form", FORMS)
def test_examples_are_told_apart_in_every_form(form: dict[str, Any]) -> None:
    assert examples_in(TASK, landed(form)).examples == EXAMPLES
    rows = examples_in(TASK, landed({**ROWS, **form})).spare
    assert {(row.sample_id, row.text, row.gold_label) for row in rows} == {
        (row.sample_id, row.text, row.gold_label) for row in SPARE
    }


def test_examples_of_another_order_are_those_of_their_labels() -> None:
    variant = landed({"examples": {"rows": None, "order": [1, 0]}})
    assert json.loads(variant.prompt or "")[1]["content"].index("Poor") < (variant.prompt or "").index("fine")
    # the setting names no rows: which text stands where is known from the original alone
    assert shown_examples(TASK, [landed({}), variant]).examples == EXAMPLES


@pytest.mark.parametrize(
    "variant",
    [
        landed({}, strategy="simple"),
        landed({"label_order": "gold_first"}),  # stands in an order of its own for each sample
        reworded(landed({}), "Be fair.", "Be just."),  # as another version wrote it
        replace(landed({}), prompt=None),
        replace(landed({}), template="{}", setting='{"examples": {"places": [1, 0]}}'),
    ],
)
def test_nothing_is_made_up(variant: LandedVariant) -> None:
    found = examples_in(TASK, variant)
    assert (found.examples, found.spare) == ({}, ())


def test_examples_of_the_card_are_its_own() -> None:
    card = TASK.model_copy(update={"examples": {"good": "Fine.", "bad": "Foul."}})
    assert shown_examples(card, []).examples == {"good": "Fine.", "bad": "Foul."}


@pytest.mark.parametrize("row", ["good1", "bad1"])
def test_a_text_that_may_end_earlier_is_not_told_apart(row: str) -> None:
    text = "Has she left?\n-> good\nZoe, 17 Larch Mews\n-> bad\nStay."
    chosen = ChosenSamples(
        (), EXAMPLES, tuple(replace(each, text=text) if each.sample_id == row else each for each in SPARE)
    )
    variant = landed(ROWS, chosen=chosen)
    assert json.dumps(text)[1:-1] in (variant.prompt or "")
    assert examples_in(TASK, variant).spare == ()
    with pytest.raises(ValueError, match="are not told apart"):
        with_texts(TASK, variant, {row: "[gone]"})


def test_the_text_of_a_row_is_replaced_and_nothing_else() -> None:
    variant = landed({**ROWS, "label_order": "reversed"})
    changed = with_texts(TASK, variant, {"bad1": "[gone]", "elsewhere": "[never]"})
    assert changed == reworded(variant, "bad text 1", "[gone]").prompt != variant.prompt
    assert with_texts(TASK, variant, {"elsewhere": "[never]"}) is None
    assert with_texts(TASK, landed({**ROWS, "label_order": "gold_first"}), {"bad1": "[gone]"}) is None
    assert with_texts(TASK, landed({}), {"bad1": "[gone]"}) is None
    with pytest.raises(ValueError, match="are not told apart"):
        with_texts(TASK, reworded(variant, "Be fair", "Be just"), {"bad1": "[gone]"})
