"""Says how wide the interval of a rectified accuracy is with so many rulings, and how many rulings a width needs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from flows.annotation.draw import Answer
from flows.warehouse import Row
from udfs.resampling import t_quantile
from udfs.templates.prediction_powered import LEAST_RULED


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectifiable:
    """The judged accuracy of a model on a task, and what is known of the errors of the judge."""

    task_id: str
    model_id: str
    judge: str
    n_answers: int
    of_samples: float  # variance of the accuracy if people had ruled on all answers
    of_a_ruling: float  # variance that one ruling would leave, over the number of rulings
    is_known: bool  # from rulings; else as if the verdicts told nothing

    def half_width(self, n_ruled: int) -> float:
        """Returns half the width of the 95 % interval with n answers ruled on; infinite below LEAST_RULED."""
        n = min(n_ruled, self.n_answers)
        if n < LEAST_RULED:
            return math.inf
        left = self.of_a_ruling * (1 / n - 1 / self.n_answers)
        return t_quantile(max(1, n - 1)) * math.sqrt(self.of_samples + left)

    def least_rulings(self, half_width: float) -> int | None:
        """Returns the least number of answers ruled on that reaches a half-width; None where all do not."""
        low, high = LEAST_RULED, self.n_answers
        if self.half_width(high) > half_width:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.half_width(middle) <= half_width else (middle + 1, high)
        return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The half-width of the widest interval of a task once a sheet is filled in, and the least that all rulings would give."""

    task_id: str
    model_id: str
    judge: str
    half_width: float
    least_half_width: float
    is_known: bool


def rectifiable(rows: Iterable[Row], answers: Sequence[Answer]) -> list[Rectifiable]:
    """Returns what is known of rows of `widths.sql` whose model answered LEAST_RULED samples or more, with the run's answers.

    Without rulings a ruling is worth what it is without a judge: the variance p (1 - p) of a share p. With rulings it is what
    they left: the squared half-width over t^2, less the part of the samples, times their number.
    """
    found = []
    for row in rows:
        own = [answer for answer in answers if _is_of(answer, row["task_id"], row["model_id"])]
        if len({answer.sample_id for answer in own}) >= LEAST_RULED:
            found.append(_rectifiable(row, len(own)))
    return found


def _rectifiable(row: Row, n_answers: int) -> Rectifiable:
    of_samples, of_a_ruling, n = row["variance"], row["accuracy"] * (1 - row["accuracy"]), row["n_ruled"] or 0
    is_known = row["half_width"] is not None and LEAST_RULED <= n < n_answers
    if is_known:
        found = (row["half_width"] / t_quantile(n - 1)) ** 2 - of_samples
        of_a_ruling = max(found / (1 / n - 1 / n_answers), 1 / n)  # one error in n may have been missed
    return Rectifiable(
        task_id=row["task_id"],
        model_id=row["model_id"],
        judge=row["judge"],
        n_answers=n_answers,
        of_samples=of_samples,
        of_a_ruling=of_a_ruling,
        is_known=is_known,
    )


def _is_of(answer: Answer, task_id: str, model_id: str) -> bool:
    return answer.stratum.task_id == task_id and model_id in answer.models


def rulings_of_task(judged: Sequence[Rectifiable], answers: Sequence[Answer], half_width: float) -> int | None:
    """Returns how many answers of a task to rule on so that each model has enough for a half-width; None where all are too few.

    A model has its part of them: those that it gave itself.
    """
    n_answers = len(answers)
    wanted = [(each.least_rulings(half_width), each.n_answers) for each in judged]
    if any(least is None for least, _ in wanted):
        return None
    return max((math.ceil(least * n_answers / own) for least, own in wanted if least is not None), default=0)


def promise(judged: Sequence[Rectifiable], answers: Sequence[Answer], items: Collection[str]) -> Promise | None:
    """Returns the widest interval of a task once people have ruled on these items too; None without a judge."""
    ruled = [answer for answer in answers if answer.is_ruled or answer.item in items]
    found = [
        (each.half_width(sum(_is_of(answer, each.task_id, each.model_id) for answer in ruled)), place)
        for place, each in enumerate(judged)
    ]
    if not found:
        return None
    half_width, place = max(found)
    widest = judged[place]
    return Promise(
        task_id=widest.task_id,
        model_id=widest.model_id,
        judge=widest.judge,
        half_width=half_width,
        least_half_width=widest.half_width(widest.n_answers),
        is_known=widest.is_known,
    )
