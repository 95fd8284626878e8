"""Prompts in another form, with other examples, another system message or in another language."""

from __future__ import annotations

import pytest

from promptaudit.prompts.messages import left_open, prompt_of, render
from promptaudit.prompts.templates import ask, reader_of
from promptaudit.prompts.variations import examples, formatting, language, levels, system, varied
from promptaudit.prompts.variations.original import Original
from promptaudit.registry.cards import Example, TaskCard, Template
from promptaudit.registry.samples import ChosenSamples, Sample

SORTED = TaskCard.model_validate(
    {
        "labels": {"good": "it is well made", "bad": "it is not"},
        "instruction": "Rate it.",
        "output_format": "Reply: good or bad, nothing else.",
        "translations": {
            "de": "Bewerte es.",
            "fr": {"instruction": "Notez-le.", "output_format": "Répondez : good ou bad."},
        },
        "data": {"path": "d.csv"},
    }
)
CHOICE = TaskCard.model_validate(
    {
        "kind": "multiple_choice",
        "templates": "m",
        "labels": ["A", "B", "C"],
        "translations": {"de": "Frage: {question}\n{options}\nAntwort:"},
        "data": {"path": "d.csv", "options": ["a", "b", "c"]},
    }
)
EXAMPLES = {"good": "A fine one.", "bad": "A poor one."}
QUESTION = Sample("s", "Which colour?", "B", {}, ("red", "green", "blue"))
SAMPLE = Sample("s", "An odd one.", "good", {})
SPARE = tuple(Sample(f"{label}{n}", f"{label} text {n}", label, {}) for label in ("good", "bad") for n in range(3))


def original(task: TaskCard, strategy: str = "simple", template: Template | None = None, **more: object) -> Original:
    chosen = ChosenSamples((QUESTION if template else SAMPLE,), EXAMPLES, SPARE)
    prompt = template or prompt_of(task, strategy, EXAMPLES)
    fields = {"noise_rate": 0.1, "systems": (), **more}
    return Original(task=task, strategy=strategy, prompt=prompt, chosen=chosen, **fields)


# ------------------------------------------------------------------ form
def test_the_form_of_a_template_changes_and_its_words_do_not() -> None:
    template = Template(text="Here is one.\n\nQuestion: {question}\nOptions:\n{options}\nRule: be brief.\nAnswer:")
    level = {
        "casing": "upper",
        "separator": " - ",
        "spacing": "\n\n",
        "option": "[{enumerator}] {option}",
        "between": " | ",
        "enumerators": "roman",
    }
    changed = formatting.apply(template, level)
    ((_, content),) = ask(changed, QUESTION)
    assert content == (
        "Here is one.\n\nQUESTION - Which colour?\n\nOPTIONS - [i] red | [ii] green | [iii] blue\nRule: be brief.\n\nANSWER -"
    )
    assert reader_of(changed, CHOICE) == '{"option_letter": ["i", "ii", "iii"]}'


def test_the_form_of_a_classification_changes_and_how_to_answer_does_not() -> None:
    level = {"casing": "lower", "separator": ":: ", "spacing": "\n", "between": " | ", "bullet": "* ", "arrow": " => "}
    simple, detail, one_shot = (
        formatting.apply(prompt_of(SORTED, strategy, EXAMPLES), level) for strategy in ("simple", "detail", "one_shot")
    )
    ((_, content),) = render(simple, "Rate it.", SAMPLE)
    assert content == "Rate it.\nThe labels are: good | bad.\nReply: good or bad, nothing else.\ninput:: An odd one."
    assert detail.block == "The labels are:\n* good:: it is well made\n* bad:: it is not"
    assert one_shot.block.endswith("Examples:\nA fine one. => good\nA poor one. => bad")


@pytest.mark.parametrize("task", [SORTED, CHOICE])
def test_no_two_forms_make_the_same_prompt_and_those_of_fewer_begin_alike(task: TaskCard) -> None:
    template = None if task is SORTED else Template(text="{question}\n{options}")
    of = original(task, template=template)
    found = formatting.levels(of, 40)
    shown = {
        str(render(formatting.apply(of.prompt, level), "Rate it.", SAMPLE))
        if not isinstance(of.prompt, Template)
        else str(ask(formatting.apply(of.prompt, level), QUESTION))
        for level in found
    }
    assert len(shown) == len(found) == 40
    assert formatting.levels(of, 7) == found[:7]


@pytest.mark.parametrize(
    "template",
    [
        Template(text="{question}\n{options}\nAnswer with the number.", enumerators="numbers"),
        Template(text="{question}\n{options}\nSay A or B."),
        Template(text="{examples}\n{question}\n{options}", examples=(Example(question="Q", answer="B"),)),
        Template(text="{question}\n{options}", enumerators=("x", "y", "z")),
    ],
)
def test_signs_that_a_prompt_speaks_of_stay(template: Template) -> None:
    assert all("enumerators" not in level for level in formatting.levels(original(CHOICE, template=template), 20))


def test_letters_that_a_prompt_speaks_of_stay_letters() -> None:
    template = Template(text="{question}\n{options}\nAnswer with the letter.")
    found = formatting.levels(original(CHOICE, template=template), 20)
    assert {level["enumerators"] for level in found} == {"upper", "lower"}


def test_a_sign_there_is_for_every_option() -> None:
    many = Sample("s", "Which?", "B", {}, tuple(f"number {n}" for n in range(12)))
    of = original(CHOICE, template=Template(text="{question}\n{options}"))
    chosen = ChosenSamples((many,), {})
    wide = Original(task=CHOICE, strategy="simple", prompt=of.prompt, chosen=chosen, noise_rate=0.1, systems=())
    assert {level["enumerators"] for level in formatting.levels(wide, 40)} == {"upper", "lower", "numbers"}  # roman: 10


# ------------------------------------------------------------------ examples
def test_examples_of_a_classification_come_in_other_orders_are_others_and_more() -> None:
    of = original(SORTED, "one_shot")
    found = examples.levels(of, 10)
    # two labels stand in one other order; three rows a label are spare, so that up to three a label are shown
    assert found == [
        {"rows": None, "order": [1, 0]},
        {"rows": ["good0", "bad0"], "order": None},
        {"rows": ["good0", "bad0", "good1", "bad1"], "order": None},
        {"rows": ["good1", "bad1"], "order": None},
        {"rows": ["good0", "bad0", "good1", "bad1", "good2", "bad2"], "order": None},
        {"rows": ["good2", "bad2"], "order": None},
    ]
    assert examples.levels(of, 3) == found[:3]
    blocks = [varied(of.prompt, {"examples": level}, SORTED, of.chosen).block for level in found]
    assert blocks[0].endswith("Examples:\nA poor one.\n-> bad\nA fine one.\n-> good")
    assert blocks[1].endswith("Examples:\ngood text 0\n-> good\nbad text 0\n-> bad")
    assert examples.fits(of)
    assert not examples.fits(original(SORTED, "detail"))


def test_examples_of_a_template_come_in_other_orders_and_fewer() -> None:
    solved = tuple(Example(question=f"Q{n}", answer=f"A{n}") for n in range(3))
    template = Template(text="{examples}\n{question}\n{options}", examples=solved, example="{question}={answer}")
    found = examples.levels(original(CHOICE, template=template), 12)
    places = [tuple(level["places"]) for level in found]
    assert len(set(places)) == len(places) == 12
    assert all(0 < len(each) <= 3 and len(set(each)) == len(each) for each in places)
    assert {len(each) for each in places} >= {1, 2, 3}
    ((_, content),) = ask(varied(template, {"examples": {"places": [2, 0]}}, CHOICE, ChosenSamples((), {})), QUESTION)
    assert content.startswith("Q2=A2\n\nQ0=A0\nWhich colour?")


# ------------------------------------------------------------------ system message
def test_system_messages_replace_the_originals_and_may_be_none() -> None:
    assert levels("system", original(SORTED), 3) == list(system.SHIPPED[:3])
    messages = [{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "{instruction} {input}"}]
    card = SORTED.model_copy(
        update={"messages": TaskCard.model_validate(SORTED.model_dump() | {"messages": messages}).messages}
    )
    of = original(card, systems=("Be kind.", "Be strict."))
    assert system.levels(of, 9) == [None, "Be strict."]
    sent = [
        [role for role, _ in render(system.apply(prompt_of(card, "simple", {}), level), "Rate it.", SAMPLE)]
        for level in (None, "Be strict.")
    ]
    assert sent == [["user"], ["developer", "user"]]
    template = Template(text="{question}\n{options}", system="Be kind.")
    assert ask(system.apply(template, None), QUESTION)[0][0] == "user"
    assert ask(system.apply(template, "Be {strict}."), QUESTION)[0] == ("system", "Be {strict}.")


# ------------------------------------------------------------------ language
def test_the_instruction_is_asked_in_the_cards_languages() -> None:
    of = original(SORTED)
    assert language.levels(of, 5) == ["de", "fr"]
    asked = [
        render(varied(of.prompt, {"language": tag}, SORTED, of.chosen), language.instruction(SORTED, tag), SAMPLE)[0][1]
        for tag in ("de", "fr")
    ]
    assert asked == [
        "Bewerte es.\nThe labels are: good, bad.\nReply: good or bad, nothing else.\n\nAn odd one.",
        "Notez-le.\nThe labels are: good, bad.\nRépondez : good ou bad.\n\nAn odd one.",
    ]
    template = varied(Template(text="{question}\n{options}"), {"language": "de"}, CHOICE, of.chosen)
    assert ask(template, QUESTION)[0][1] == "Frage: Which colour?\nA. red\nB. green\nC. blue\nAntwort:"


def test_kinds_are_put_together_in_one_prompt() -> None:
    of = original(SORTED, "one_shot")
    setting = {
        "format": formatting.levels(of, 1)[0] | {"arrow": " => "},
        "examples": {"rows": ["good1", "bad1"], "order": None},
        "label_order": "reversed",
        "system": "Be strict.",
    }
    sent = left_open(varied(of.prompt, setting, SORTED, of.chosen), "Rate it.")
    assert sent[0] == ("system", "Be strict.")
    assert "Examples:\nbad text 1 => bad\ngood text 1 => good" in sent[1][1]
