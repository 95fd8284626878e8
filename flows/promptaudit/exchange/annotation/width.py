"""Computes how wide the interval of a rectified accuracy is with n rulings, and how many rulings a width needs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from promptaudit.exchange.annotation.draw import Answer
from promptaudit.system.display.figures import number
from promptaudit.system.display.progress import visible
from promptaudit.udfs.resampling import t_quantile
from promptaudit.udfs.templates.prediction_powered import LEAST_RULED
from promptaudit.warehouse import Row, rows_as


class _Accuracy(NamedTuple):
    # a row of `widths.sql`

    task_id: str
    model_id: str
    judge: str
    accuracy: float
    variance: float | None  # one sample has none
    n_samples: int
    share_right: float
    share_both_right: float | None
    n_ruled: int | None
    half_width: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectifiable:
    """The judged accuracy of a model on a task, and what is known of the errors of the judge.

    `of_samples` is the variance of the accuracy if people had ruled on all answers, and `of_samples_most` its upper
    bound. `of_a_ruling` is the variance that rulings on some answers add, times their number.
    """

    task_id: str
    model_id: str
    judge: str
    n_answers: int
    of_samples: float
    of_samples_most: float
    of_a_ruling: float

    def half_width(self, n_ruled: int, *, at_most: bool = False) -> float:
        """Computes half the width of the 95 % interval with n answers ruled on. It is infinite below LEAST_RULED."""
        n = min(n_ruled, self.n_answers)
        if n < LEAST_RULED:
            return math.inf
        of_samples = self.of_samples_most if at_most else self.of_samples
        left = self.of_a_ruling * (1 / n - 1 / self.n_answers)
        return t_quantile(n - 1) * math.sqrt(of_samples + left)

    def least_rulings(self, half_width: float) -> int | None:
        """Finds the least number of rulings that reaches a half-width; None where rulings on all answers do not."""
        low, high = LEAST_RULED, self.n_answers
        if self.half_width(high) > half_width:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.half_width(middle) <= half_width else (middle + 1, high)
        return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Half-widths of a task's widest interval once a sheet is filled in.

    They are the expected one, the most that it can be, and the one with all answers ruled on.
    """

    task_id: str
    model_id: str
    judge: str
    half_width: float
    half_width_most: float
    least_half_width: float

    @property
    def line(self) -> str:
        """Writes in one line how well the accuracy is known once the answers are ruled on."""
        who = visible(f"{self.task_id}: {self.model_id} by {self.judge}")
        least = f"about {number(self.least_half_width)} with all answers ruled on"
        if math.isinf(self.half_width):
            return f"  {who}: these are too few to rectify its accuracy ({least})"
        most = "" if self.half_width_most <= self.half_width else f", {number(self.half_width_most)} at most"
        within = f"accuracy_rectified is known within about {number(self.half_width)}{most}"
        return f"  {who}: once these are ruled on, {within} ({least})"


def rectifiable(rows: Iterable[Row], answers: Sequence[Answer]) -> list[Rectifiable]:
    """Collects, from rows of `widths.sql`, each judged accuracy whose model answered LEAST_RULED samples or more.

    `answers` are the run's. Without rulings the variance over samples is taken from the judged accuracies, which a
    judge that errs at random makes too small, and a ruling is worth what it is without a judge: the variance p (1 - p)
    of a share p. The upper bound holds where the answers to a sample are all right or all wrong: p (1 - p) over the
    samples. With rulings, the variance over samples is what pairs of ruled answers to one sample share. The variance of
    a ruling is what rulings left: the squared half-width over t^2, less the variance over samples, times their number.
    """
    found = []
    for row in rows_as(_Accuracy, rows):
        own = [answer for answer in answers if _is_of(answer, row.task_id, row.model_id)]
        if len({answer.sample_id for answer in own}) >= LEAST_RULED and row.variance is not None:
            found.append(_rectifiable(row, row.variance, len(own)))
    return found


def _rectifiable(row: _Accuracy, variance: float, n_answers: int) -> Rectifiable:
    right, n = row.accuracy, row.n_ruled or 0
    of_samples, most, of_a_ruling = variance, right * (1 - right) / row.n_samples, right * (1 - right)
    if row.half_width is not None and n >= LEAST_RULED:
        left = (row.half_width / t_quantile(n - 1)) ** 2
        if n >= n_answers:
            of_samples = left
        elif row.share_both_right is not None:
            shared = (row.share_both_right - row.share_right**2) / row.n_samples
            of_samples = max(of_samples, shared)
        of_samples = most = min(of_samples, left)
        if n < n_answers:
            of_a_ruling = max(
                (left - of_samples) / (1 / n - 1 / n_answers), 1 / n
            )  # an error in n may have been missed
    return Rectifiable(
        task_id=row.task_id,
        model_id=row.model_id,
        judge=row.judge,
        n_answers=n_answers,
        of_samples=of_samples,
        of_samples_most=max(most, of_samples),
        of_a_ruling=of_a_ruling,
    )


def _is_of(answer: Answer, task_id: str, model_id: str) -> bool:
    return answer.stratum.task_id == task_id and model_id in answer.models


def rulings_of_task(judged: Sequence[Rectifiable], answers: Sequence[Answer], half_width: float) -> int | None:
    """Computes how many answers of a task to rule on so that each model reaches a half-width; None if all are too few.

    A ruling counts for a model if the model gave the answer.
    """
    n_answers = len(answers)
    wanted = [(each.least_rulings(half_width), each.n_answers) for each in judged]
    if any(least is None for least, _ in wanted):
        return None
    return max((math.ceil(least * n_answers / own) for least, own in wanted if least is not None), default=0)


def promise(judged: Sequence[Rectifiable], answers: Sequence[Answer], items: Collection[str]) -> Promise | None:
    """Finds the widest interval of a task once people have ruled on these items too; None without a judge."""
    ruled = [answer for answer in answers if answer.is_ruled or answer.item in items]
    found = [
        (each.half_width(n), each.half_width(n, at_most=True), place)
        for place, each in enumerate(judged)
        for n in [sum(_is_of(answer, each.task_id, each.model_id) for answer in ruled)]
    ]
    if not found:
        return None
    half_width, most, place = max(found)
    widest = judged[place]
    return Promise(
        task_id=widest.task_id,
        model_id=widest.model_id,
        judge=widest.judge,
        half_width=half_width,
        half_width_most=most,
        least_half_width=widest.half_width(widest.n_answers),
    )
