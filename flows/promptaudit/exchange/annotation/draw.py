"""Draws the answers of a sheet by strata of format and verdict, and from all templates in proportion.

Verdicts decide how many answers each stratum gets.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from promptaudit.system.keys import content_id
from promptaudit.udfs.raters.verdict_groups import GROUPS, verdict_groups
from promptaudit.warehouse import Row
from promptaudit.warehouse.sql import over, sql

IN_FORMAT, OUT_OF_FORMAT = "in format", "out of format"


def of_rulable(name: str) -> str:
    """Loads a query of this room that reads `rulable_samples`, those on whose answers people can rule."""
    return over(sql("exchange.annotation", name), rulable_samples=sql("exchange.annotation", "rulable_samples"))


class Stratum(NamedTuple):
    """A kind of answer: the `GROUPS` member that rules and judges put it in, and whether it was read as an answer."""

    task_id: str
    is_in_format: bool
    group: str

    @property
    def name(self) -> str:
        """Names the stratum in words, without the task."""
        return f"{self.group}, {IN_FORMAT if self.is_in_format else OUT_OF_FORMAT}"


class Answer(NamedTuple):
    """An answer that people may rule on. `passes` is 1 if all judges pass it, 0 if none does, .5 if it is open."""

    item: str
    stratum: Stratum
    sample_id: str
    template: str
    models: Collection[str]
    passes: float
    is_ruled: bool


def answers_of(rows: Sequence[Row]) -> list[Answer]:
    """Makes an answer of each row of `answers.sql`."""
    flags = ("rule_right", "rule_wrong", "judge_right", "judge_wrong", "is_unscored")
    groups = verdict_groups(*(np.array([bool(row[flag]) for row in rows], bool) for flag in flags))
    return [
        Answer(
            item=row["item"],
            stratum=Stratum(row["task_id"], row["is_in_format"], group),
            sample_id=row["sample_id"],
            template=row["prompt_variant_id"],
            models=row["models"],
            passes=_passes(row),
            is_ruled=row["is_ruled"],
        )
        for row, group in zip(rows, groups, strict=True)
    ]


def _passes(row: Mapping[str, Any]) -> float:
    who = "judge" if row["judge_right"] or row["judge_wrong"] else "rule"
    return 0.5 * (1 + bool(row[f"{who}_right"]) - bool(row[f"{who}_wrong"]))


def allocate(answers: Sequence[Answer], n: int) -> dict[Stratum, int]:
    """Splits n answers (or all, if fewer) over the strata.

    One half goes to all strata alike, so that rare ones and those in which a judge errs unexpectedly are seen. The
    other half is Neyman's allocation for a judge who errs with probability e, on right answers as often as on wrong
    ones. Of N answers in a format it passes N p; of the answers it passes a share (1 - p) e/p is then wrong, and of the
    others a share p e/(1 - p) is right. The number of answers times the deviation is N sqrt(p (1 - p) e) for both. So
    the strata of a format take alike, and formats in proportion to N sqrt(p (1 - p)), whatever e is. What a stratum
    lacks is spread over the others.
    """
    sizes = Counter(answer.stratum for answer in answers)
    formats = {(stratum.task_id, stratum.is_in_format) for stratum in sizes}
    passing = {
        each: [answer.passes for answer in answers if (answer.stratum.task_id, answer.stratum.is_in_format) == each]
        for each in formats
    }
    need = {}
    for stratum in sorted(sizes, key=lambda stratum: (GROUPS.index(stratum.group), stratum)):
        own = passing[stratum.task_id, stratum.is_in_format]
        share = (sum(own) + 1) / (len(own) + 2)
        need[stratum] = len(own) * math.sqrt(share * (1 - share))
    wanted = {stratum: 0.5 / len(need) + 0.5 * need[stratum] / sum(need.values()) for stratum in need}
    return _rounded(_filled(wanted, sizes, min(n, len(answers))), sizes, min(n, len(answers)))


def _filled(wanted: Mapping[Stratum, float], sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, float]:
    # in proportion to what is wanted, none larger than its stratum
    filled: dict[Stratum, float] = {}
    while open_strata := [stratum for stratum in wanted if stratum not in filled]:
        left, total = n - sum(filled.values()), sum(wanted[stratum] for stratum in open_strata)
        shares = {stratum: left * wanted[stratum] / total for stratum in open_strata}
        full = [stratum for stratum in open_strata if shares[stratum] >= sizes[stratum]]
        if not full:
            return filled | shares
        filled |= {stratum: float(sizes[stratum]) for stratum in full}
    return filled


def _rounded(shares: Mapping[Stratum, float], sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, int]:
    # the largest fractions are rounded up, the first strata first
    rounded = {stratum: int(share) for stratum, share in shares.items()}
    by_fraction = sorted(shares, key=lambda stratum: rounded[stratum] - shares[stratum])
    for stratum in by_fraction:
        if sum(rounded.values()) < n and rounded[stratum] < sizes[stratum]:
            rounded[stratum] += 1
    return rounded


def draw(answers: Sequence[Answer], n: int, seed: int, *, more: bool = False) -> list[str]:
    """Draws n answers (or all, if fewer) and lists their items shuffled. A larger n keeps the items of a smaller one.

    Within a stratum every answer has the same chance, and each template gets rows in proportion to its answers there:
    these stand evenly on [0, 1) from a seeded place on, in the order of seeded hashes, and the first of all templates'
    answers are taken.

    Args:
        answers: the answers of a run.
        n: how many people will have ruled on.
        seed: of the draw.
        more: leaves out the answers that people ruled on, and counts them as drawn; what strata lack is drawn.
    """
    ruled = {answer.item for answer in answers if more and answer.is_ruled}
    wanted = allocate(answers, n)
    if more:
        known = Counter(answer.stratum for answer in answers if answer.is_ruled)
        lacking = {
            stratum: n_wanted - known[stratum] for stratum, n_wanted in wanted.items() if n_wanted > known[stratum]
        }
        n_more = min(max(0, n - len(ruled)), sum(lacking.values()))
        wanted = _rounded(_filled(lacking, lacking, n_more), lacking, n_more)
    drawn = []
    for stratum, n_wanted in wanted.items():
        places = sorted(_places([answer for answer in answers if answer.stratum == stratum], seed))
        drawn += [item for _, _, item in places if item not in ruled][:n_wanted]
    return shuffled(drawn, seed)


def _places(answers: Sequence[Answer], seed: int) -> Iterator[tuple[float, str, str]]:
    templates: dict[str, list[tuple[str, str]]] = {}
    for answer in answers:
        templates.setdefault(answer.template, []).append((_rank("take", seed, answer.item), answer.item))
    for template, own in templates.items():
        stratum = answers[0].stratum
        begin = int(_rank("begin", seed, " ".join((*map(str, stratum), template)))[:13], 16) / 16**13
        for place, (rank, item) in enumerate(sorted(own)):
            yield (place + begin) / len(own), rank, item


def of_questions(answers: Sequence[Answer], n: int, seed: int) -> list[str]:
    """Lists the items of every answer to n questions of each task, or to all, shuffled.

    The questions are the ones with the smallest seeded hashes, so a larger n keeps the questions of a smaller one.
    """
    asked: dict[str, set[str]] = {}
    for answer in answers:
        asked.setdefault(answer.stratum.task_id, set()).add(answer.sample_id)
    chosen: set[tuple[str, str]] = set()
    for task_id, samples in asked.items():
        ranks = {sample_id: _rank("question", seed, f"{task_id} {sample_id}") for sample_id in samples}
        chosen |= {(task_id, sample_id) for sample_id in sorted(ranks, key=ranks.__getitem__)[:n]}
    return shuffled([answer.item for answer in answers if (answer.stratum.task_id, answer.sample_id) in chosen], seed)


def shuffled(items: Sequence[str], seed: int) -> list[str]:
    """Sorts items by a seeded hash, which shows nothing of their strata."""
    return sorted(items, key=lambda item: _rank("shuffle", seed, item))


def _rank(what: str, seed: int, item: str) -> str:
    return content_id("annotate", what, str(seed), item)
