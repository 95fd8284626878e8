"""Templates put a question in ways that differ, the data that ships has right answers, and what cannot be put is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from promptaudit.cards.check_cards import check_audit
from promptaudit.plan.design import design_audit
from promptaudit.prompts.templates import ask
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.errors import CardError
from promptaudit.registry.placeholders import placeholders, substitute
from promptaudit.registry.registry import Registry, load_registry
from promptaudit.registry.samples import Sample, load_samples
from promptaudit.udfs.readers.option_letter import read_option
from promptaudit.udfs.scoring.math.equal import MathEqual
from promptaudit.udfs.scoring.math.final_answer import boxed_answer

REGISTRY = load_registry()
QUESTIONS = {"general_knowledge": 60, "reading": 40, "arithmetic": 48, "short_facts": 48}
"""The tasks whose questions ship, and how many."""


def samples_of(task: str) -> list[Sample]:
    return load_samples(task, REGISTRY.task(task), REGISTRY.data_root(task))


def templates_of(task: str) -> tuple[Template, ...]:
    return REGISTRY.templates(REGISTRY.task(task).templates or "").templates


@pytest.mark.parametrize(("task", "n_samples"), QUESTIONS.items())
def test_every_question_differs_and_has_an_answer(task: str, n_samples: int) -> None:
    samples = samples_of(task)
    assert len(samples) == n_samples
    assert len({sample.text.casefold() for sample in samples}) == n_samples
    assert all(sample.has_key for sample in samples)


@pytest.mark.parametrize("task", QUESTIONS)
def test_there_are_twelve_templates_of_each_kind(task: str) -> None:
    assert len(templates_of(task)) == 12


@pytest.mark.parametrize("task", QUESTIONS)
def test_every_template_renders_for_every_sample(task: str) -> None:
    for template in templates_of(task):
        for sample in samples_of(task):
            *system, (role, prompt) = ask(template, sample)
            assert role == "user"
            assert list(system) == ([("system", template.system)] if template.system else [])
            # "{x}" may stand in a formula; what the template names may not
            assert not [name for name in placeholders(template.text) if f"{{{name}}}" in prompt]
            assert sample.text in prompt
            assert all(option in prompt for option in sample.options)


@pytest.mark.parametrize("task", QUESTIONS)
def test_every_template_of_a_set_gives_another_prompt(task: str) -> None:
    templates = templates_of(task)
    for sample in samples_of(task):
        assert len({ask(template, sample) for template in templates}) == len(templates)


@pytest.mark.parametrize("task", ["reading", "arithmetic", "short_facts"])
def test_an_open_template_has_nothing_of_options(task: str) -> None:
    for template in templates_of(task):
        assert not {"enumerators", "option", "between", "answer"} & template.model_fields_set


def test_a_passage_is_shown_by_every_template_of_reading() -> None:
    samples = samples_of("reading")
    assert Counter(Counter(sample.fields["passage"] for sample in samples).values()) == {2: 20}
    for template in templates_of("reading"):
        assert all(sample.fields["passage"] in ask(template, sample)[-1][1] for sample in samples)


def test_the_answer_of_reading_stands_in_its_passage() -> None:
    for sample in samples_of("reading"):
        assert sample.references[0].casefold() in sample.fields["passage"].casefold()


@pytest.mark.parametrize("task", ["reading", "arithmetic", "short_facts"])
def test_a_second_reference_says_the_first_otherwise(task: str) -> None:
    counts = Counter(len(sample.references) for sample in samples_of(task))
    assert set(counts) == {1, 2}
    assert all(len(set(sample.references)) == len(sample.references) for sample in samples_of(task))


def test_the_right_options_are_balanced_over_the_letters_and_there() -> None:
    samples = samples_of("general_knowledge")
    labels = REGISTRY.task("general_knowledge").label_names
    # 60 questions, 4 letters
    assert Counter(sample.gold_label for sample in samples) == dict.fromkeys(labels, 15)
    assert Counter(len(sample.options) for sample in samples) == {4: 50, 3: 10}
    for sample in samples:
        assert labels.index(sample.gold_label or "") < len(sample.options)
        assert len({option.casefold() for option in sample.options}) == len(sample.options)


def test_templates_differ_in_signs_brackets_place_and_answer() -> None:
    templates = templates_of("general_knowledge")
    assert {"upper", "lower", "numbers", "roman"} < {str(template.enumerators) for template in templates}
    assert len({template.option for template in templates}) >= 5
    assert {template.between for template in templates} == {"\n", " / "}
    assert len({template.answer for template in templates}) >= 6
    shows_options_first = [
        template.text.index("{options}") < template.text.index("{question}") for template in templates
    ]
    assert (shows_options_first[0], shows_options_first.count(True)) == (False, 1)


def test_the_signs_of_a_template_differ_and_reach() -> None:
    most = len(REGISTRY.task("arc_challenge").label_names)  # five, the most of any task that ships
    for template in templates_of("general_knowledge"):
        assert len({sign.casefold() for sign in template.signs}) == len(template.signs) >= most


def test_an_answer_as_its_template_asks_for_is_read_as_the_option_it_gives() -> None:
    n_options = len(REGISTRY.task("general_knowledge").label_names)
    unread = set()
    for index, template in enumerate(templates_of("general_knowledge")):
        for sample in samples_of("general_knowledge"):
            for place, (sign, option) in enumerate(zip(template.signs, sample.options, strict=False)):
                answer = substitute(template.answer, {"enumerator": sign, "option": option})
                found = read_option(answer, template.signs[:n_options]).index
                assert found in (place, None), (index, answer)
                if found is None:
                    unread.add(index)
    # an option's text alone holds no sign: the rule cannot score it, a judge can
    assert unread == {
        index for index, template in enumerate(templates_of("general_knowledge")) if template.answer == "{option}"
    }
    assert len(unread) == 1


def test_every_reference_of_arithmetic_equals_itself_and_its_other_notation() -> None:
    pairs = [
        (written, (reference,))
        for sample in samples_of("arithmetic")
        for answer in sample.references
        for reference in sample.references
        for written in (answer, rf"The result is \boxed{{{answer}}}.")
    ]
    with MathEqual() as math_equal:
        readings = math_equal.equal_all(pairs)
    assert [pair for pair, reading in zip(pairs, readings, strict=True) if not reading.is_equal] == []


def test_the_results_of_arithmetic_differ_so_far_that_another_one_is_wrong() -> None:
    """Neighbouring samples' results, taken for each other, are equal only where the data repeats a result."""
    references = [sample.references[0] for sample in samples_of("arithmetic")]
    pairs = [(said, (right,)) for said, right in zip(references, references[1:] + references[:1], strict=True)]
    with MathEqual() as math_equal:
        readings = math_equal.equal_all(pairs)
    wrong = [
        said for (said, right), reading in zip(pairs, readings, strict=True) if reading.is_equal and said != right[0]
    ]
    assert wrong == [r"\frac{1}{2}"]  # before the row whose result is written 0.5


def test_solved_problems_change_with_the_template_and_are_none_of_the_data() -> None:
    solved = [[example.question for example in template.examples] for template in templates_of("arithmetic")]
    shown = [question for questions in solved for question in questions]
    assert sum(bool(questions) for questions in solved) >= 3
    assert len(set(shown)) == len(shown)
    assert len({template.example for template in templates_of("arithmetic") if template.examples}) >= 3
    assert not {question.casefold() for question in shown} & {
        sample.text.casefold() for sample in samples_of("arithmetic")
    }


def test_the_templates_of_mathematics_have_two_solved_problems_each_whose_result_is_in_a_box() -> None:
    templates = templates_of("math")
    assert len(templates) == 12
    shown = [example for template in templates for example in template.examples]
    assert len(shown) == len({example.question for example in shown}) == 24
    assert all(boxed_answer(example.answer) for example in shown)
    prompts = {ask(template, Sample("s", "How much is 2 + 2?", None, {}))[-1][1] for template in templates}
    assert len(prompts) == 12
    assert all(
        "boxed" in prompt and "How much is 2 + 2?" in prompt and "{examples}" not in prompt for prompt in prompts
    )


def prepared(task: str, folder: Path, row: dict[str, Any]) -> Sample:
    """The sample that a benchmark's prepared file of one row gives."""
    card: TaskCard = REGISTRY.task(task)
    data = card.data.model_copy(update={"hub": None, "path": "row.jsonl"})
    (folder / "row.jsonl").write_text(json.dumps(row))
    (sample,) = load_samples(task, card.model_copy(update={"data": data}), folder)
    return sample


@pytest.mark.parametrize("task", ["arc_challenge", "openbookqa"])
def test_the_hubs_own_rows_give_options_and_key(task: str, tmp_path: Path) -> None:
    choices = {"text": ["tin", "[wood]", "7"], "label": ["A", "B", "C"]}
    question = {"openbookqa": "question_stem"}.get(task, "question")
    row = {"id": "r1", question: "Which is a metal?", "choices": choices, "answerKey": "A"}
    sample = prepared(task, tmp_path, row)
    assert (sample.text, sample.options, sample.gold_label) == ("Which is a metal?", ("tin", "[wood]", "7"), "A")
    if task == "arc_challenge":
        assert prepared(task, tmp_path, {**row, "answerKey": "3"}).gold_label == "C"


def test_a_prepared_file_of_options_gives_options_and_key(tmp_path: Path) -> None:
    row = {"id": "r1", "question": "Which is a metal?", "options": ["tin", "[wood]", "7"], "answer": "C"}
    sample = prepared("gpqa", tmp_path, row)
    assert (sample.text, sample.options, sample.gold_label) == ("Which is a metal?", ("tin", "[wood]", "7"), "C")


def test_the_hubs_stories_fill_the_templates_of_reading(tmp_path: Path) -> None:
    row = {
        "document": {"id": "d", "summary": {"text": "A cat.", "tokens": ["A"]}, "text": "A whole book."},
        "question": {"text": "Who?", "tokens": ["Who"]},
        "answers": [{"text": "a cat", "tokens": ["a"]}, {"text": "the cat", "tokens": ["the"]}],
    }
    sample = prepared("narrativeqa", tmp_path, row)
    assert (sample.text, sample.references) == ("Who?", ("a cat", "the cat"))
    assert "A cat." in ask(templates_of("narrativeqa")[0], sample)[-1][1]


def test_an_interval_is_one_answer(tmp_path: Path) -> None:
    # a column alone may hold a JSON list, which [0, 1] is: named twice it is text
    sample = prepared("math", tmp_path, {"unique_id": "m1", "problem": "Where is it positive?", "answer": "[0, 1]"})
    assert set(sample.references) == {"[0, 1]"}


def registry_of(
    folder: Path, templates: str, task: str = "", data: str = "id,question,a,b,gold\n1,Q?,x,y,A\n"
) -> Registry:
    """A registry with one template card `t`, a multiple-choice task `quiz` and an audit of it."""
    for kind, text in (
        ("templates", templates),
        (
            "tasks",
            task
            or "quiz:\n  kind: multiple_choice\n  templates: t\n"
            "  data: {path: datasets/q.csv, id: id, input: question, options: [a, b], gold_label: gold}\n",
        ),
        ("audits", "asked: {tasks: [quiz], models: [random]}\n"),
    ):
        (folder / kind).mkdir()
        (folder / kind / "c.yml").write_text(text)
    (folder / "datasets").mkdir()
    (folder / "datasets/q.csv").write_text(data)
    return load_registry([folder])


def refused(folder: Path, *given: str) -> str:
    """The line that a registry is refused with, when it is read or when its audit is put together."""
    with pytest.raises(CardError) as caught:
        design_audit(registry_of(folder, *given), "asked")
    line = str(caught.value)
    assert "\n" not in line
    return line


CHOICE = "t:\n  kind: multiple_choice\n  templates:\n"
OPEN = "t:\n  kind: open_ended\n  templates:\n"


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (CHOICE + "    - '{options}'\n", "line 4: templates.0: text never uses {question}"),
        (CHOICE + "    - '{question} {options}'\n    - '{question}'\n", "line 1: t: template 2 never uses {options}"),
        (
            OPEN + "    - '{question}'\n    - '{question} {options}'\n",
            "line 1: t: template 2 uses {options}, but there are none",
        ),
        (
            CHOICE
            + "    - '{question} {options}'\n    - '{question}\n\n      {options}'\n    - '{question} {options}'\n",
            "line 1: t: template 3 stands twice",
        ),
        (
            CHOICE + "    - text: '{question} {options}'\n      enumerators: [A, ' ']\n",
            "line 4: templates.0: enumerators must differ, and none be blank",
        ),
        (
            CHOICE + "    - text: '{question} {options}'\n      enumerators: [A, B, a]\n",
            "line 4: templates.0: enumerators must differ, and none be blank",
        ),
        (
            CHOICE + "    - text: '{question} {options}'\n      option: '{option}'\n",
            "line 4: templates.0: option must use {enumerator} and {option}",
        ),
        (
            CHOICE + "    - text: '{question} {options}'\n      answer: the letter\n",
            "line 4: templates.0: answer must use {enumerator} or {option}",
        ),
        (
            CHOICE + "    - text: '{question} 1) {first_option} 2) {second_option}'\n",
            "line 4: templates.0: '1' stands before {first_option}; `enumerators: numbers` reads it",
        ),
        (
            CHOICE + "    - '{question} {first_option}'\n",
            "line 1: t: template 1 never uses {options}, nor {first_option}, {second_option} and so on",
        ),
        (
            OPEN + "    - text: '{question}'\n      enumerator: lower\n",
            "line 5: unknown field 'templates.0.enumerator' of 't'; nearest: enumerators",
        ),
        (OPEN + "    []\n", "line 3: templates: "),
    ],
)
def test_a_card_that_does_not_hold_together_is_refused_with_its_line(tmp_path: Path, card: str, said: str) -> None:
    assert refused(tmp_path, card).startswith(f"CardError: templates/c.yml {said}")


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (
            CHOICE + "    - '{question} {options}'\n    - '{quetsion} {question} {options}'\n",
            "templates/c.yml line 5: no column of task 'quiz' is {quetsion}; nearest: question",
        ),
        (
            CHOICE + "    - text: '{question} {options}'\n      enumerators: [A]\n",
            "templates/c.yml line 4: template 1 has 1 enumerators, task 'quiz' has 2 options",
        ),
        (
            CHOICE + "    - '{question} {options} {eleventh_option}'\n",
            "templates/c.yml line 4: no column of task 'quiz' is {eleventh_option}; nearest: options",
        ),
        (
            OPEN + "    - '{question}'\n",
            "tasks/c.yml line 3: 't' are templates of kind open_ended, the task is multiple_choice",
        ),
    ],
)
def test_a_card_that_does_not_fit_its_task_is_refused_with_its_line(tmp_path: Path, card: str, said: str) -> None:
    assert refused(tmp_path, card) == f"CardError: {said}"


def test_a_column_named_in_a_template_is_shown_and_a_brace_of_a_formula_is_text(tmp_path: Path) -> None:
    card = CHOICE + "    - 'Hint: {hint} {question} {options} \\boxed{} {1, 2}'\n"
    data = "id,question,a,b,gold,hint\n1,'{options}?',x,y,A,it is {question}\n"
    registry = registry_of(tmp_path, card, data=data)
    (sample,) = design_audit(registry, "asked").samples["quiz"].samples
    ((_, prompt),) = ask(registry.templates("t").templates[0], sample)
    # what is put in is never read again
    assert prompt == "Hint: it is {question} '{options}?' A. x\nB. y \\boxed{} {1, 2}"


PRINTED = """t:
  kind: multiple_choice
  placeholders: {problem: question}
  templates:
    - "{problem}\\nA. {first_option}\\nB. {second_option}\\nAnswer:"
    - {text: "{problem} (1) {first_option} (2) {second_option} (3) {third_option}", enumerators: numbers}
    - {text: "{problem} {options}"}
    - {text: "{problem} {options}", examples: [{question: "Is {problem} it?", answer: A}]}
    - {text: "{examples}  \\n{question} {first_option} {options}"}
"""


def test_templates_as_somebody_printed_them_are_sent_byte_for_byte(tmp_path: Path) -> None:
    data = (
        """id,question,options,gold\n1,{first_option}?,"[""x"", ""{options}""]",A\n2,Q?,"[""x"", ""y"", ""z""]",C\n"""
    )
    task = """quiz:\n  kind: multiple_choice\n  templates: t\n  labels: [A, B, C]
  data: {path: datasets/q.csv, id: id, input: question, options: options, gold_label: gold}\n"""
    registry = registry_of(tmp_path, PRINTED, task, data)
    templates, samples = registry.templates("t").templates, design_audit(registry, "asked").samples["quiz"].samples
    sent = [[ask(template, sample)[-1][1] for template in templates] for sample in samples]
    assert sent == [
        [
            "{first_option}?\nA. x\nB. {options}\nAnswer:",
            "{first_option}? (1) x (2) {options} (3) ",
            "{first_option}? A. x\nB. {options}",
            "Question: Is {problem} it?\nAnswer: A\n\n{first_option}? A. x\nB. {options}",
            "{first_option}? x A. x\nB. {options}",
        ],
        [
            "Q?\nA. x\nB. y\nAnswer:",
            "Q? (1) x (2) y (3) z",
            "Q? A. x\nB. y\nC. z",
            "Question: Is {problem} it?\nAnswer: A\n\nQ? A. x\nB. y\nC. z",
            "Q? x A. x\nB. y\nC. z",
        ],
    ]
    assert check_audit(registry, "asked").notes == (
        "templates/c.yml line 5: template 1 names 2 options; 1 of 2 questions of task 'quiz' have more, which are not shown",
        "templates/c.yml line 6: template 2 names 3 options; 1 of 2 questions of task 'quiz' have fewer, and blanks stand there",
        "templates/c.yml line 9: template 5 uses {examples} and has none; nothing stands there",
    )


def test_a_column_is_shown_before_an_option_of_that_name(tmp_path: Path) -> None:
    card = CHOICE + "    - '{question} {first_option} {options}'\n"
    registry = registry_of(tmp_path, card, data="id,question,a,b,gold,first_option\n1,Q?,x,y,A,own\n")
    (sample,) = design_audit(registry, "asked").samples["quiz"].samples
    assert ask(registry.templates("t").templates[0], sample)[-1][1] == "Q? own A. x\nB. y"
