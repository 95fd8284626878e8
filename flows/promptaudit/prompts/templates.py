"""Fills templates, whole prompts of a question, for a sample, and says how answers to them are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from promptaudit.engines import Question
from promptaudit.prompts.messages import Messages
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.placeholders import placeholders, substitute
from promptaudit.registry.samples import Sample
from promptaudit.registry.task_cards import JsonFieldReader
from promptaudit.registry.template_cards import OF_OPTIONS
from promptaudit.system.keys import as_json

OWN = frozenset({"question", "options", "examples"})
"""Lists the placeholders that a template fills itself, beside `OF_OPTIONS`; the others are columns of the data."""
_NO_EXAMPLES = re.compile(r"\{examples\}\s*")


def ask(template: Template, sample: Sample) -> Messages:
    """Writes the messages of a template for a sample. Filled-in text is never read for placeholders again.

    A column without a value is empty.
    """
    options = dict(zip(OF_OPTIONS, sample.options, strict=False))
    data = {name: sample.fields.get(name, options.get(name, "")) for name in placeholders(template.text)}
    return _filled(template, {**data, "question": sample.text, "options": shown_options(template, sample.options)})


def left_open(template: Template) -> Messages:
    """Writes the messages with the data's placeholders left open, for a reader."""
    return _filled(template, {})


def _filled(template: Template, values: Mapping[str, str]) -> Messages:
    text, examples = (
        template.text,
        [
            substitute(template.example, {"question": example.question, "answer": example.answer})
            for example in template.examples
        ],
    )
    if not examples:
        text = _NO_EXAMPLES.sub("", text)
    elif "examples" not in placeholders(text):
        text = f"{{examples}}\n\n{text}"
    question = ("user", substitute(text, {**values, "examples": "\n\n".join(examples)}))
    return (question,) if template.system is None else (("system", template.system), question)


def shown_options(template: Template, options: Sequence[str]) -> str:
    """Writes the options as the template shows them."""
    pairs = zip(template.signs, options, strict=False)
    return template.between.join(
        substitute(template.option, {"enumerator": sign, "option": option}) for sign, option in pairs
    )


def reader_of(template: Template, task: TaskCard) -> str | None:
    """Describes, as JSON, how answers to a template are read: by its enumerators; None if the task's own way holds."""
    if task.kind != "multiple_choice":
        return None
    return as_json({"option_letter": template.signs[: len(task.labels)]})


def question_of(
    task: TaskCard, sample: Sample, template: Template | None, option_order: tuple[int, ...] = ()
) -> Question:
    """Describes what a request is about, for engines that look at no prompt; the sample is as the prompt shows it."""
    gold = None if sample.gold_label is None else task.label_names.index(sample.gold_label)
    signs = () if template is None else template.signs[: len(sample.options)]
    field = task.reader.json_field if isinstance(task.reader, JsonFieldReader) else None
    return Question(
        sample.text,
        sample.options,
        signs,
        gold,
        sample.references,
        option_order=option_order,
        json_field=field,
        fields={name: each.values for name, each in task.fields.items()},
    )


def weighs_options(task: TaskCard) -> bool:
    """Checks whether a scoring method of the task asks how likely each option is."""
    return any(method.startswith("option_loglikelihood") for method in task.scoring_methods)


def answers_to_weigh(
    task: TaskCard, sample: Sample, template: Template, option_order: tuple[int, ...] = ()
) -> tuple[str, ...]:
    """Writes each option as an answer in the template's form, if a scoring method of the task weighs them; else ().

    The sample is as the prompt shows it, its options in an order that has for each place the option's place in the
    data. The answers are in the data's order.
    """
    if not weighs_options(task):
        return ()
    pairs = zip(template.signs, sample.options, strict=False)
    answers = [substitute(template.answer, {"enumerator": sign, "option": option}) for sign, option in pairs]
    return (
        tuple(answers[option_order.index(place)] for place in range(len(answers))) if option_order else tuple(answers)
    )


def columns_of(template: Template) -> set[str]:
    """Lists the columns of the data that a template fills in by name; one in `OF_OPTIONS` may be an option instead."""
    return set(placeholders(template.text)) - OWN
