"""Options and labels in other orders: what is shown, and what engines that look at no prompt make of it."""

from __future__ import annotations

import pytest

from promptaudit.prompts.messages import prompt_of
from promptaudit.prompts.templates import answers_to_weigh, ask, question_of
from promptaudit.prompts.variations import label_order, option_order
from promptaudit.prompts.variations.order import order_of
from promptaudit.prompts.variations.original import Original
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.samples import ChosenSamples, Sample

CHOICE = TaskCard.model_validate(
    {
        "kind": "multiple_choice",
        "templates": "m",
        "scoring": ["option_letter", "option_loglikelihood"],
        "labels": ["A", "B", "C", "D"],
        "data": {"path": "d.csv", "options": ["a", "b", "c", "d"]},
    }
)
TEMPLATE = Template(text="{question}\n{options}", enumerators="lower", answer="{enumerator} {option}")
COLOURS = Sample("s7", "Which?", "C", {}, ("red", "green", "blue", "grey"))
SORTED = TaskCard.model_validate(
    {"labels": ["good", "fair", "bad"], "instruction": "Rate it.", "data": {"path": "d.csv"}}
)


def original(task: TaskCard, *samples: Sample) -> Original:
    prompt = TEMPLATE if task is CHOICE else prompt_of(task, "simple", {})
    return Original(
        task=task, strategy="simple", prompt=prompt, chosen=ChosenSamples(samples, {}), noise_rate=0.1, systems=()
    )


def test_orders_by_gold_come_first_and_those_of_fewer_begin_alike() -> None:
    names = option_order.levels(original(CHOICE, COLOURS), 6)
    assert names == ["gold_first", "gold_last", "reversed", "seeded 1", "seeded 2", "seeded 3"]
    assert all(names[:n] == option_order.levels(original(CHOICE, COLOURS), n) for n in range(7))
    without = Sample("s", "Which?", None, {}, ("red", "green"))
    assert option_order.levels(original(CHOICE, without), 3) == ["reversed", "seeded 1", "seeded 2"]


@pytest.mark.parametrize(
    ("level", "options", "gold", "order"),
    [
        ("gold_first", ("blue", "red", "green", "grey"), "A", (2, 0, 1, 3)),
        ("gold_last", ("red", "green", "grey", "blue"), "D", (0, 1, 3, 2)),
        ("reversed", ("grey", "blue", "green", "red"), "B", (3, 2, 1, 0)),
    ],
)
def test_the_options_and_what_is_right_move_and_the_signs_stay(
    level: str, options: tuple[str, ...], gold: str, order: tuple[int, ...]
) -> None:
    shown, found = option_order.shown(COLOURS, level, CHOICE)
    assert (shown.options, shown.gold_label, found) == (options, gold, order)
    ((_, content),) = ask(TEMPLATE, shown)
    assert content == "Which?\n" + "\n".join(f"{sign}. {each}" for sign, each in zip("abcd", options, strict=True))
    question = question_of(CHOICE, shown, TEMPLATE, found)
    assert question.options[question.gold_index or 0] == "blue"
    # each option under the sign it is shown with, in the order of the data, which log-likelihoods keep
    weighed = answers_to_weigh(CHOICE, shown, TEMPLATE, found)
    assert weighed == tuple(f"{'abcd'[order.index(place)]} {COLOURS.options[place]}" for place in range(4))


def test_a_sample_without_gold_is_left_as_it_is_by_an_order_of_gold() -> None:
    without = Sample("s", "Which?", None, {}, ("red", "green"))
    assert option_order.shown(without, "gold_first", CHOICE) == (without, (0, 1))


def test_seeded_orders_differ_by_sample_and_seed_and_each_place_is_as_likely() -> None:
    orders = [order_of("seeded 1", 4, None, "option_order", f"s{number}") for number in range(4000)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    # of 4,000 orders each of the 24 is expected 167 times, give or take 13: five of these are 64
    assert all(abs(orders.count(order) - 4000 / 24) < 64 for order in set(orders))
    assert len(set(orders)) == 24
    assert orders[0] == order_of("seeded 1", 4, None, "option_order", "s0")
    assert orders[:50] != [order_of("seeded 2", 4, None, "option_order", f"s{number}") for number in range(50)]


def test_golden_orders() -> None:
    orders = [order_of(f"seeded {seed}", 4, None, "option_order", "gk-001") for seed in (1, 2, 3)]
    assert orders == [(0, 2, 3, 1), (0, 1, 2, 3), (3, 1, 0, 2)]


def test_orders_of_labels_are_all_different_and_those_of_fewer_begin_alike() -> None:
    of = original(SORTED, Sample("s", "x", "bad", {}))
    names = label_order.levels(of, 10)
    assert names[:3] == ["gold_first", "gold_last", "reversed"]
    blocks = [label_order.apply(prompt_of(SORTED, "simple", {}), name).block for name in names[2:]]
    # three labels stand in six orders, and one is the original's
    assert len(blocks) == len(set(blocks)) == 5
    assert "The labels are: good, fair, bad." not in blocks
    assert all(names[:n] == label_order.levels(of, n) for n in range(8))


def test_labels_descriptions_and_examples_stand_in_another_order() -> None:
    described = SORTED.model_copy(
        update={"labels": tuple(item.model_copy(update={"description": f"is {item.label}"}) for item in SORTED.labels)}
    )
    examples = {name: f"a {name} one" for name in SORTED.label_names}
    for strategy, marks in (
        ("simple", "{0}, {1}, {2}"),
        ("detail", "- {0}: is {0}\n- {1}: is {1}\n- {2}: is {2}"),
        ("one_shot", "{0}, {1}, {2}.\nExamples:\na {0} one\n-> {0}\na {1} one\n-> {1}\na {2} one\n-> {2}"),
    ):
        prompt = prompt_of(described, strategy, examples)
        for level, gold, order in (
            ("reversed", None, ("bad", "fair", "good")),
            ("gold_first", "fair", ("fair", "good", "bad")),
            ("gold_last", "good", ("fair", "bad", "good")),
            ("gold_last", None, ("good", "fair", "bad")),
        ):
            assert marks.format(*order) in label_order.apply(prompt, level, gold).block


def test_a_prompt_without_labels_has_no_order_of_them() -> None:
    silent = SORTED.model_copy(update={"labels_line": "none"})
    fits = [
        label_order.fits(
            Original(
                task=silent,
                strategy=strategy,
                prompt=prompt_of(silent, strategy, {}),
                chosen=ChosenSamples((), {}),
                noise_rate=0.1,
                systems=(),
            )
        )
        for strategy in ("simple", "detail", "one_shot", "structured")
    ]
    assert fits == [False, True, True, False]
