"""Answers of a sheet are drawn evenly within strata, in step with templates, and more of the strata that tell more."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from promptaudit.exchange.annotation.draw import Answer, Stratum, allocate, answers_of, draw, of_questions
from promptaudit.udfs.raters.verdict_groups import JUDGE_RIGHT, JUDGES_DISAGREE, RIGHT, WRONG

PASSES = {RIGHT: 1.0, WRONG: 0.0, JUDGE_RIGHT: 1.0, JUDGES_DISAGREE: 0.5}


def stratum(group: str, is_in_format: bool = True, task: str = "t") -> Stratum:
    return Stratum(task, is_in_format, group)


def answers(*counts: tuple[Stratum, int], templates: int = 4, prefix: str = "") -> list[Answer]:
    """So many answers of each stratum, dealt to templates in turn; the n-th is to sample n."""
    return [
        Answer(
            f"{prefix}{own}-{place}", own, str(place), f"v{place % templates}", ["m"], PASSES[own.group], is_ruled=False
        )
        for own, count in counts
        for place in range(count)
    ]


def drawn(of: list[Answer], n: int, seed: int = 42) -> Counter[Stratum]:
    by_item = {answer.item: answer.stratum for answer in of}
    return Counter(by_item[item] for item in draw(of, n, seed))


def test_verdicts_of_a_format_take_alike_however_rare() -> None:
    of = answers((stratum(RIGHT), 900), (stratum(WRONG), 100))
    assert allocate(of, 60) == {stratum(RIGHT): 30, stratum(WRONG): 30}


def test_a_format_takes_by_its_answers_and_by_how_open_they_are() -> None:
    # in format 500 of 1,000 pass, out of it 10 of 100: 1000 sqrt(501/1002 * 501/1002) = 500 and 100 sqrt(11/102 * 91/102) = 31.0
    of = answers((stratum(RIGHT), 500), (stratum(WRONG), 500), (stratum(RIGHT, False), 10), (stratum(WRONG, False), 90))
    # half of 400 are 50 each; of the others 200 * 500 / 1062 = 94.2 and 5.8; the 10 are all taken, and what they lack goes round
    got = allocate(of, 400)
    assert sum(got.values()) == 400
    assert got[stratum(RIGHT, False)] == 10
    assert got[stratum(RIGHT)] == pytest.approx(got[stratum(WRONG)], abs=1) == pytest.approx(144.2 * 390 / 344.2, abs=1)
    assert got[stratum(WRONG, False)] == pytest.approx(55.8 * 390 / 344.2, abs=1)


def test_a_sheet_holds_no_more_than_there_is() -> None:
    of = answers((stratum(JUDGE_RIGHT), 1), (stratum(WRONG), 2))
    assert drawn(of, 100) == {stratum(JUDGE_RIGHT): 1, stratum(WRONG): 2}
    assert draw(of, 0, 42) == []


def test_the_draw_is_the_same_every_time_and_another_with_another_seed() -> None:
    of = answers((stratum(JUDGE_RIGHT), 50), (stratum(RIGHT), 50))
    assert draw(of, 20, 42) == draw(of[::-1], 20, 42)
    assert set(draw(of, 20, 42)) != set(draw(of, 20, 43))


def test_a_larger_sheet_holds_the_smaller_one() -> None:
    of = answers((stratum(RIGHT), 200), (stratum(WRONG), 90), (stratum(WRONG, False), 30))
    sheets = [set(draw(of, n, 42)) for n in (10, 40, 41, 150)]
    assert all(small < large for small, large in pairwise(sheets))


def test_further_answers_disturb_few() -> None:
    few, many = answers((stratum(RIGHT), 200)), answers((stratum(RIGHT), 202))
    assert len(set(draw(few, 50, 42)) - set(draw(many, 50, 42))) <= 6


def test_templates_stand_in_step_with_their_answers() -> None:
    of = answers((stratum(RIGHT), 400), templates=10)
    templates = {answer.item: answer.template for answer in of}
    # 40 answers each: a tenth of 400 is 4 of each template, give or take one for where it begins
    assert set(Counter(templates[item] for item in draw(of, 40, 42)).values()) <= {3, 4, 5}


def test_every_answer_of_a_stratum_has_the_same_chance() -> None:
    # templates with one, three and 36 answers
    own = stratum(RIGHT)
    of = [
        Answer(
            str(place), own, str(place), "a" if place == 0 else "b" if place < 4 else "c", ["m"], 1.0, is_ruled=False
        )
        for place in range(40)
    ]
    n_draws = 600
    taken = Counter(item for seed in range(n_draws) for item in draw(of, 10, seed))
    # 10 of 40, with a standard error of sqrt(.25 * .75 / 600) = .018
    for items in (["0"], ["1", "2", "3"], [str(place) for place in range(4, 40)]):
        assert sum(taken[item] for item in items) / len(items) / n_draws == pytest.approx(0.25, abs=0.06)


def test_what_people_ruled_on_counts_and_is_not_asked_again() -> None:
    of = answers((stratum(RIGHT), 60), (stratum(WRONG), 40))
    first = set(draw(of, 20, 42))
    ruled = [answer._replace(is_ruled=answer.item in first) for answer in of]
    more = draw(ruled, 30, 42, more=True)
    assert len(more) == 10
    assert set(more) | first == set(draw(of, 30, 42))
    assert draw(ruled, 20, 7, more=True) == []


def test_the_order_tells_nothing_of_the_strata() -> None:
    of = answers((stratum(JUDGE_RIGHT), 20), (stratum(RIGHT), 1000))
    by_item = {answer.item: answer.stratum for answer in of}
    places = [place for place, item in enumerate(draw(of, 40, 42)) if by_item[item] == stratum(JUDGE_RIGHT)]
    # the mean place of 20 drawn from 0..39: 19.5, with a standard error of sqrt(20 x 41 / 12 / 20) = 1.85
    assert len(places) == 20
    assert abs(sum(places) / 20 - 19.5) < 3 * 1.85


def test_all_answers_to_some_questions_are_ruled_on() -> None:
    of = [
        Answer(f"{task}{sample}{number}", stratum(RIGHT, task=task), sample, "v", ["m"], 1.0, is_ruled=False)
        for task in ("t", "u")
        for sample in ("1", "2", "3")
        for number in range(4)
    ]
    two, three = of_questions(of, 2, 42), of_questions(of, 3, 42)
    assert Counter(item[0] for item in two) == {"t": 8, "u": 8}
    assert len({item[:2] for item in two}) == 4
    assert set(two) < set(three)
    assert sorted(three) == sorted(answer.item for answer in of)
    assert of_questions(of, 3, 7) != three


def test_rows_become_answers() -> None:
    row = {
        "item": "i",
        "task_id": "t",
        "sample_id": "s",
        "prompt_variant_id": "v",
        "is_in_format": False,
        "models": ["m"],
        "rule_right": True,
        "rule_wrong": False,
        "judge_right": False,
        "judge_wrong": True,
        "is_unscored": False,
        "is_ruled": False,
    }
    by_rule = row | {"judge_wrong": False}
    of = answers_of([row, row | {"judge_right": True}, by_rule])
    assert [answer.stratum.name for answer in of] == [
        "judge says wrong, rule does not, out of format",
        "judges disagree, out of format",
        "all say right, out of format",
    ]
    # without a judge it is the rule that passes an answer
    assert [answer.passes for answer in of] == [0, 0.5, 1]
