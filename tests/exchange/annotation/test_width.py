"""How many rulings a width needs, and how wide the interval is with so many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from promptaudit.exchange.annotation.draw import Answer, Stratum, draw
from promptaudit.exchange.annotation.width import Rectifiable, promise, rectifiable, rulings_of_task
from promptaudit.udfs.raters.verdict_groups import RIGHT, WRONG
from promptaudit.udfs.templates.prediction_powered import rectified_accuracy
from tests.udfs.templates.ruled_worlds import accuracies_of, ruled_world


def row(**changes: Any) -> dict[str, Any]:
    """A row of widths.sql: accuracy .6 of 200 samples, on which nobody ruled."""
    own = {"task_id": "t", "model_id": "m", "judge": "judge:j", "accuracy": 0.6, "variance": 0.0004, "n_samples": 200}
    return own | {"n_ruled": 0, "half_width": None, "share_right": None, "share_both_right": None} | changes


def answers(n: int, models: tuple[str, ...] = ("m",), *, ruled: int = 0) -> list[Answer]:
    own = Stratum("t", True, RIGHT)
    return [Answer(str(place), own, str(place), "v", models, 1.0, is_ruled=place < ruled) for place in range(n)]


def of_row(of: dict[str, Any], all_answers: list[Answer]) -> Rectifiable:
    (found,) = rectifiable([of], all_answers)
    return found


def test_few_samples_are_never_rectified() -> None:
    assert rectifiable([row()], answers(9)) == []
    assert len(rectifiable([row()], answers(10))) == 1
    assert rectifiable([row(model_id="n")], answers(10)) == []


def test_without_rulings_the_judge_tells_nothing() -> None:
    judged = of_row(row(), answers(2400))
    assert judged.n_answers == 2400
    # 1.9842 sqrt(.0004 + .24 (1/100 - 1/2400))
    assert judged.half_width(100) == pytest.approx(1.98422 * math.sqrt(0.0004 + 0.24 * (1 / 100 - 1 / 2400)), rel=1e-4)
    assert judged.half_width(5000) == judged.half_width(2400) == pytest.approx(1.961 * 0.02, rel=1e-3)
    assert judged.half_width(9) == math.inf
    # all answers to a sample may be alike, which a judge that errs at random does not show
    assert judged.half_width(2400, at_most=True) == pytest.approx(1.961 * math.sqrt(0.24 / 200), rel=1e-3)


def test_the_least_rulings_reach_the_width_and_one_less_does_not() -> None:
    judged = of_row(row(), answers(2400))
    least = judged.least_rulings(0.06)
    assert least is not None
    assert judged.half_width(least) <= 0.06 < judged.half_width(least - 1)
    # all rulings leave the error of 200 samples
    assert judged.least_rulings(0.03) is None


def test_rulings_show_how_much_a_ruling_tells() -> None:
    half_width = 1.98422 * math.sqrt(0.0004 + 0.06 * (1 / 100 - 1 / 2400))
    judged = of_row(row(n_ruled=100, half_width=half_width), answers(2400, ruled=100))
    assert judged.of_a_ruling == pytest.approx(0.06, rel=1e-3)
    assert judged.half_width(100) == pytest.approx(half_width)
    assert judged.half_width(200, at_most=True) == judged.half_width(200)
    # of answers of which .6 are right, two to one sample are both right in .5: a variance of .14 over samples
    alike = row(n_ruled=100, half_width=half_width, share_right=0.6, share_both_right=0.5)
    assert of_row(alike, answers(2400)).of_samples == pytest.approx(0.14 / 200)
    # no error in 100 rulings is no proof that there is none
    assert of_row(row(n_ruled=100, half_width=0.03), answers(2400)).of_a_ruling == pytest.approx(1 / 100)


def test_each_model_has_its_part_of_a_task() -> None:
    both = [*answers(600, ("m",)), *answers(200, ("m", "n"))]
    judged = rectifiable([row(), row(model_id="n", variance=0.0001)], both)
    assert [each.n_answers for each in judged] == [800, 200]
    least = [each.least_rulings(0.06) for each in judged]
    assert least[1] is not None
    # of n rulings 1 in 4 is of n's answers
    assert rulings_of_task(judged, both, 0.06) == max(least[0] or 0, 4 * least[1])
    assert rulings_of_task(judged, both, 0.001) is None
    widest = promise(judged, both, {answer.item for answer in both})
    assert widest is not None
    assert widest.model_id == "m"
    assert widest.half_width == widest.least_half_width
    assert promise([], both, set()) is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_sheet_keeps_its_promise(seed: int) -> None:
    world = ruled_world(seed, "format", accuracies_of(0), 0, 1)
    n_samples, n_templates = world.right.shape
    groups = np.where(world.judged > 0, RIGHT, WRONG)
    of = [
        Answer(
            f"{sample} {template}",
            Stratum("t", bool(world.is_in_format[sample, template]), str(groups[sample, template])),
            str(sample),
            str(template),
            ["m"],
            float(world.judged[sample, template]),
            is_ruled=False,
        )
        for sample in range(n_samples)
        for template in range(n_templates)
    ]
    by_sample = world.judged.mean(axis=1)
    judged = of_row(row(accuracy=by_sample.mean(), variance=by_sample.var(ddof=1) / n_samples), of)

    def half_width(items: list[str]) -> float:
        taken, weight = set(items), np.zeros(world.right.shape)
        sizes = {
            each: [answer for answer in of if answer.stratum == each] for each in {answer.stratum for answer in of}
        }
        for own in sizes.values():
            rows = [answer for answer in own if answer.item in taken]
            for answer in rows:
                weight[int(answer.sample_id), int(answer.template)] = len(own) / len(rows)
        got = rectified_accuracy(*world._replace(weight=weight).columns(), 7, 0)
        return (got.accuracy_high - got.accuracy_low) / 2

    n = rulings_of_task([judged], of, 0.05)
    assert n is not None
    first = half_width(draw(of, n, seed))
    assert first <= 0.05  # the judge tells something
    # with what the rulings showed of it, a further sheet is near to its promise
    more = of_row(row(accuracy=by_sample.mean(), variance=judged.of_samples, n_ruled=n, half_width=first), of)
    needed = more.least_rulings(0.036)
    assert needed is not None
    assert half_width(draw(of, needed, seed)) == pytest.approx(0.036, abs=0.004)
