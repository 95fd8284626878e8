r"""The model that knows the key: what it means and how it says it are two things, each as its card says."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.engines import Question, Request
from promptaudit.engines.embedded.draws import uniform
from promptaudit.engines.embedded.engine import open_annotator
from promptaudit.engines.embedded.examinee import CHOSEN, GIVEN, examinee_annotator
from promptaudit.engines.embedded.field_answers import NAMES
from promptaudit.engines.embedded.matching_judge import matches
from promptaudit.engines.embedded.number_words import in_words, whole_in_words
from promptaudit.plan.design import Design, design_audit
from promptaudit.prompts.templates import ask, question_of
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.registry import load_registry
from promptaudit.system.keys import prompt_variant_id
from promptaudit.udfs.readers.option_letter import read_option
from promptaudit.udfs.scoring.fields import read_fields
from promptaudit.udfs.scoring.math.equal import MathEqual
from promptaudit.udfs.scoring.token_f1 import token_f1
from tests.support.engine_requests import request_of
from tests.support.shell import outputs_by_hash_seed

OPTIONS = ("Ottawa", "Toronto", "Montreal", "Vancouver")
SIGNS = [tuple("ABCD"), tuple("abcd"), tuple("1234"), ("i", "ii", "iii", "iv"), tuple("PQRS")]


def card(**settings: Any) -> ModelCard:
    return ModelCard(engine="embedded", model="examinee", examinee=settings)


def chosen(sample: int, template: int = 0, repetition: int = 1, **fields: Any) -> Request:
    question = Question("Which is it?", OPTIONS, SIGNS[template % len(SIGNS)], sample % 4)
    cell = {
        "sample_id": f"s{sample}",
        "prompt_variant_id": f"t{template}",
        "repetition": repetition,
        "question": question,
    }
    return request_of(**{"labels": tuple("ABCD"), **cell, **fields})


def is_right(request: Request, completion: str) -> bool:
    assert request.question is not None
    return matches(request.question, completion)[0]


def in_prose(completion: str) -> bool:
    heads = [form.partition("{said}")[0][:20] for form in (*CHOSEN, *GIVEN)]
    return any(completion.startswith(head) for head in heads)


@functools.cache
def shipped() -> Design:
    return design_audit(load_registry(), "templates")


def asked(task_id: str, model_id: str = "steady") -> Iterator[Request]:
    """Every sample of a shipped task under every template."""
    design = shipped()
    task = design.tasks[task_id]
    for index, template in enumerate(design.templates[task_id].templates):
        for sample in design.samples[task_id].samples:
            yield request_of(
                sample.text,
                model_id=model_id,
                task_id=task_id,
                prompt_variant_id=prompt_variant_id(task_id, "simple", None, index, template.canonical_json()),
                variant_index=index,
                sample_id=sample.sample_id,
                messages=ask(template, sample),
                labels=task.label_names,
                question=question_of(task, sample, template),
            )


def asked_for_fields(sample: int, template: int = 0) -> Request:
    gold = json.dumps(
        {
            "total": f"{sample}.50",
            "coin": ("EUR", "USD")[sample % 2],
            "name": f"Maker {chr(65 + sample % 26)}",
            "day": None,
        }
    )
    fields = {"total": (), "coin": ("EUR", "USD"), "name": (), "day": ()}
    question = Question("An invoice", references=(gold,), fields=fields)
    return request_of(labels=(), sample_id=f"s{sample}", prompt_variant_id=f"t{template}", question=question)


def test_fields_are_right_as_often_as_the_card_says_and_each_on_its_own() -> None:
    annotate = examinee_annotator(card(accuracy=0.7))
    reader = json.dumps(
        {
            "fields": {
                "total": {"rule": "number"},
                "coin": {"rule": "exact"},
                "name": {"rule": "exact"},
                "day": {"rule": "exact"},
            }
        }
    )
    right = []
    for sample in range(400):
        request = asked_for_fields(sample)
        said = annotate(request)
        assert said is not None
        assert request.question is not None
        right.append([bool(each.is_correct) for each in read_fields(said, reader, request.question.references[0])])
    for shares in zip(*right, strict=True):
        assert statistics.fmean(shares) == pytest.approx(0.7, abs=0.08)
    assert 0 < statistics.fmean(all(each) for each in right) < 0.35  # .7 to the fourth is .24


def test_fields_are_said_in_prose_too_and_made_up_without_a_key() -> None:
    sure = examinee_annotator(card(accuracy=1, prose=1))
    said = [sure(asked_for_fields(sample, template)) for sample in range(20) for template in range(10)]
    assert any(in_prose(each) for each in said)
    assert any("{" in each for each in said)
    request = asked_for_fields(1)
    assert request.question is not None
    values = json.loads(
        str(
            examinee_annotator(card(accuracy=1))(replace(request, question=replace(request.question, references=())))
        ).strip("`json\n")
    )
    assert values["coin"] in ("EUR", "USD")
    assert all(values.values())


def test_accuracy_is_the_share_of_questions_it_knows() -> None:
    annotate = examinee_annotator(card(accuracy=0.7))
    right = sum(is_right(request, annotate(request)) for request in map(chosen, range(2000)))
    # binomial: 1,400 of 2,000, standard deviation 20.5; four of them
    assert abs(right - 1400) < 82


@pytest.mark.parametrize(("accuracy", "share"), [(1, 1.0), (0, 0.0)])
def test_accuracy_at_its_ends(accuracy: float, share: float) -> None:
    annotate = examinee_annotator(card(accuracy=accuracy))
    assert statistics.fmean(is_right(request, annotate(request)) for request in map(chosen, range(100))) == share


@pytest.mark.parametrize("prose", [0, 1])
def test_without_an_effect_or_noise_its_meaning_is_one_under_all_templates(prose: float) -> None:
    annotate = examinee_annotator(card(accuracy=0.5, prose=prose))
    for sample in range(60):
        meant = set()
        for template in range(20):
            request = chosen(sample, template)
            assert request.question is not None
            completion = annotate(request)
            meant |= {n for n in range(4) if matches(replace(request.question, gold_index=n), completion)[0]}
        assert len(meant) == 1  # one option, right or wrong, never another


def test_the_rule_reads_what_is_said_plainly_and_nothing_else() -> None:
    annotate = examinee_annotator(card(accuracy=0.5, prose=1))
    seen = Counter[bool]()
    for sample in range(60):
        for template in range(20):
            request = chosen(sample, template)
            assert request.question is not None
            completion = annotate(request)
            said = read_option(completion, request.question.signs).index
            assert (said is None) is in_prose(completion), completion
            seen[said is None] += 1
            if said is not None:
                assert matches(replace(request.question, gold_index=said), completion)[0]
    assert min(seen.values()) > 300


def test_a_templates_share_of_prose_is_evenly_drawn_up_to_the_cards() -> None:
    annotate = examinee_annotator(card(prose=0.8))
    shares = []
    for template in range(100):
        share = 0.8 * uniform("prose share", 0, "asked", f"t{template}")
        found = statistics.fmean(in_prose(annotate(chosen(sample, template))) for sample in range(200))
        # at most 0.035 a standard deviation over 200 samples; five of them over 100 templates
        assert abs(found - share) < 0.18
        shares.append(found)
    # even on [0, 0.8]: mean 0.4, standard deviation 0.231, of the mean of 100 0.023
    assert abs(statistics.fmean(shares) - 0.4) < 0.1
    assert abs(statistics.pstdev(shares) - 0.231) < 0.06


def accuracies(made: ModelCard, n_samples: int, n_templates: int) -> list[float]:
    annotate = examinee_annotator(made)
    return [
        statistics.fmean(is_right(request, annotate(request)) for request in (chosen(s, t) for s in range(n_samples)))
        for t in range(n_templates)
    ]


def test_a_template_effect_moves_accuracy_by_as_much_as_it_says() -> None:
    found = accuracies(card(accuracy=0.6, template_effect=0.3), 200, 40)
    # even on [0.3, 0.9]: standard deviation 0.173, seen through one draw a sample, the same for all templates
    assert 0.13 < statistics.pstdev(found) < 0.22
    for template, accuracy in enumerate(found):
        known = 0.6 + (2 * uniform("effect", 0, "asked", f"t{template}") - 1) * 0.3
        assert abs(accuracy - known) < 0.14  # binomial over 200: 0.035; four of them


def test_what_it_knows_under_a_harder_template_it_knows_under_an_easier_one() -> None:
    annotate = examinee_annotator(card(accuracy=0.6, template_effect=0.3))
    known = [
        {s for s in range(200) if is_right(chosen(s, t), annotate(chosen(s, t)))}
        for t in sorted(range(20), key=lambda t: uniform("effect", 0, "asked", f"t{t}"))
    ]
    assert all(harder <= easier for harder, easier in itertools.pairwise(known))
    assert len(known[-1]) - len(known[0]) > 60


@pytest.mark.slow
def test_noise_alone_spreads_templates_by_chance_and_no_more() -> None:
    found = accuracies(card(accuracy=0.7, noise=1), 200, 50)
    # every cell is a draw of its own: sqrt(0.7 * 0.3 / 200) = 0.0324 between templates, known to a tenth from 50 of them
    assert abs(statistics.stdev(found) - 0.0324) < 0.012
    assert abs(statistics.fmean(found) - 0.7) < 0.019  # 10,000 draws: standard deviation 0.0046; four of them


def test_noise_is_the_share_of_cells_drawn_anew() -> None:
    annotate = examinee_annotator(card(accuracy=0.5, noise=0.4))
    cells = [(s, t) for s in range(200) for t in range(10)]
    turned = sum(
        is_right(chosen(s, t, 1), annotate(chosen(s, t, 1))) != is_right(chosen(s, t, 2), annotate(chosen(s, t, 2)))
        for s, t in cells
    )
    # two asks differ where either is drawn anew (0.64) and the two draws fall apart (0.5): 640 of 2,000, deviation 21
    assert abs(turned - 640) < 105


def test_two_models_of_one_seed_draw_apart() -> None:
    annotate = examinee_annotator(card(accuracy=0.5))
    one, other = (
        [is_right(request, annotate(request)) for request in (chosen(s, model_id=model) for s in range(400))]
        for model in ("one", "other")
    )
    # independent halves agree on 200 of 400, standard deviation 10
    assert abs(sum(a == b for a, b in zip(one, other, strict=True)) - 200) < 50


def test_without_a_key_options_are_drawn_evenly_and_names_made_up() -> None:
    annotate = examinee_annotator(card())
    keyless = Question("Which is it?", OPTIONS, SIGNS[0])
    found = Counter(read_option(annotate(chosen(sample, question=keyless)), SIGNS[0]).index for sample in range(2000))
    # 500 each of 2,000, standard deviation 19
    assert set(found) == {0, 1, 2, 3}
    assert all(abs(count - 500) < 97 for count in found.values())
    assert len({annotate(chosen(s, question=Question("Who?"), labels=())) for s in range(100)}) > 4


def test_a_wrong_answer_never_holds_a_reference() -> None:
    # "Apollo 12" would say the second one
    moon = Question("Which flight was it?", references=("Apollo 11", "Apollo"))
    assert examinee_annotator(card(accuracy=0))(chosen(0, question=moon, labels=())) in NAMES


def test_a_classification_is_answered_with_labels() -> None:
    annotate = examinee_annotator(card(accuracy=0.5))
    requests = [request_of(sample_id=f"s{s}", question=Question("Q?", gold_index=2)) for s in range(400)]
    found = Counter(annotate(request) for request in requests)
    assert set(found) == set(requests[0].labels)
    assert abs(found["person"] - 200) < 50  # binomial: standard deviation 10


def test_a_request_without_its_question_is_refused() -> None:
    async def answer() -> None:
        await open_annotator(card()).answer(request_of())

    with pytest.raises(EngineError, match="examinee"):
        asyncio.run(answer())


def test_signs_stand_in_the_brackets_of_the_prompt() -> None:
    annotate = examinee_annotator(card())
    prompts = {"A. Ottawa": "{}", "(A) Ottawa": "({})", "[A] Ottawa": "[{}]"}
    for prompt, form in prompts.items():
        said = {
            annotate(chosen(s, messages=(("user", prompt + form.format("B") + form.format("C") + form.format("D")),)))
            for s in range(200)
        }
        assert {form.format(sign) for sign in "ABCD"} <= said
        assert {f"The answer is {form.format(sign)}." for sign in "ABCD"} <= said
        assert {f"{sign}. {option}" for sign, option in zip("ABCD", OPTIONS, strict=True)} <= said


def test_an_option_that_reads_as_a_sign_is_said_by_its_sign() -> None:
    annotate = examinee_annotator(card(accuracy=1, prose=1))
    question = Question("How many?", ("3", "1", "2", "4"), tuple("1234"), 0)
    for sample in range(100):
        completion = annotate(chosen(sample, question=question))
        assert read_option(completion, question.signs).index == 0, completion


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("50 years", "fifty years"),
        (r"\frac{1}{2}", "one half"),
        (r"$-\frac{3}{4}$", "minus three quarters"),
        ("5/12", "five over twelve"),
        ("4 1/4", "four and one quarter"),
        (r"4\frac{1}{4}", "four and one quarter"),
        ("0.125", "zero point one two five"),
        ("80%", "eighty percent"),
        ("1,440", "one thousand four hundred and forty"),
        ("1005", "one thousand and five"),
        ("-27", "minus twenty-seven"),
        ("x = 3", "x = three"),
        ("(4, 3)", "(four, three)"),
        ("1939-1945", "1939-1945"),
        ("H2O", "H2O"),
        ("007", "007"),
        ("1234567", "1234567"),
        (r"2\sqrt{3}", r"2\sqrt{3}"),
        ("x^2 - 2x - 15", "x^2 - 2x - 15"),
        ("6a - 11", "6a - 11"),
        ("2:20", "two:twenty"),
        ("Paris", "Paris"),
    ],
)
def test_numbers_in_words(text: str, said: str) -> None:
    assert in_words(text) == said


@given(st.integers(0, 999_999))
def test_whole_numbers_in_words_are_read_back(number: int) -> None:
    assert matches(Question("Q?", references=(str(number),)), whole_in_words(number))[0]
    assert not matches(Question("Q?", references=(str(number + 1),)), whole_in_words(number))[0]


@given(st.integers(-999, 999), st.integers(1, 999))
def test_fractions_in_words_are_read_back(top: int, bottom: int) -> None:
    said = in_words(f"{top}/{bottom}")
    assert matches(Question("Q?", references=(f"{top}/{bottom}",)), said)[0], said
    assert not matches(Question("Q?", references=(f"{top}/{bottom + 1}",)), said)[0], said


@pytest.mark.parametrize("task_id", ["general_knowledge", "short_facts", "arithmetic"])
def test_steady_means_the_same_under_every_shipped_template(task_id: str) -> None:
    annotate = examinee_annotator(load_registry().model("steady"))
    verdicts: dict[str, set[bool]] = {}
    for request in asked(task_id):
        verdicts.setdefault(request.sample_id, set()).add(is_right(request, annotate(request)))
    assert all(len(found) == 1 for found in verdicts.values())
    share = statistics.fmean(True in found for found in verdicts.values())
    # binomial over 48 or 60 questions: standard deviation 0.066 at most; three of them
    assert abs(share - 0.7) < 0.2


def test_on_shipped_options_the_rule_reads_what_is_plain_and_nothing_else() -> None:
    annotate = examinee_annotator(card(accuracy=0.7, prose=1))
    for request in asked("general_knowledge"):
        assert request.question is not None
        completion = annotate(request)
        index = read_option(completion, request.question.signs).index
        assert (index is None) is in_prose(completion), completion
        if index is not None:
            assert (index == request.question.gold_index) is is_right(request, completion)


def test_on_shipped_facts_only_plain_answers_reach_the_threshold() -> None:
    annotate = examinee_annotator(card(accuracy=0.7, prose=1))
    for request in asked("short_facts"):
        assert request.question is not None
        completion = annotate(request)
        score = token_f1(completion, request.question.references)
        if in_prose(completion):
            assert score < 0.3, completion
        else:
            assert (score == 1) is is_right(request, completion)


def test_on_shipped_problems_the_rule_finds_plain_results_alone() -> None:
    annotate = examinee_annotator(card(accuracy=0.7, prose=1))
    requests = list(asked("arithmetic"))
    pairs = [(annotate(request), request.question.references) for request in requests if request.question is not None]
    with MathEqual() as rule:
        found = [reading.is_equal is True for reading in rule.equal_all(pairs)]
    expected = [
        not in_prose(said) and is_right(request, said) for request, (said, _) in zip(requests, pairs, strict=True)
    ]
    assert found == expected
    assert any(said.startswith("\\boxed{") for said, _ in pairs)


def test_its_answers_do_not_depend_on_order_or_process() -> None:
    code = (
        "from tests.engines.embedded.test_examinee import *;"
        "annotate = examinee_annotator(card(template_effect=0.2, noise=0.3, prose=0.7));"
        "asked = [chosen(s, t) for s in range(20) for t in range(4)];"
        "found = [annotate(r) for r in asked];"
        "print(found == [annotate(r) for r in reversed(asked)][::-1], found)"
    )
    outputs = outputs_by_hash_seed(code)
    assert outputs[0].startswith("True ")
    assert outputs[0] == outputs[1]
