"""The sections on what is measured of every run, in the page's order: sensitivity, consistency, PSS, answers, prompts, costs."""

from __future__ import annotations

from flows.report.alike import alike
from flows.report.answers import accuracy, formats
from flows.report.between import between
from flows.report.blocks import Budget, Section
from flows.report.classes import classes
from flows.report.clouds import clouds
from flows.report.costs import costs
from flows.report.gather import Gathered
from flows.report.pairs import pairs
from flows.report.room import Room
from flows.report.sensitivity import consistency, sensitivity
from flows.report.stability import paraphrase, repetition
from flows.report.subsamples import subsamples
from flows.report.telling import telling
from flows.report.variety import variety
from flows.report.wordings import wordings


def measured(found: Gathered) -> list[Section]:
    """Each section says of every task what it has, or why it has nothing."""
    budget = Budget(len({row["task_id"] for row in found.scorecard}))
    return [
        sensitivity(found, budget),
        classes(found, Room(found)),
        telling(found, Room(found)),
        clouds(found, Room(found)),
        consistency(found, budget),
        alike(found, Room(found)),
        pairs(found, Room(found)),
        repetition(found, budget, Room(found)),
        paraphrase(found, budget),
        between(found, Room(found)),
        subsamples(found, Room(found)),
        variety(found, Room(found)),
        formats(found, budget),
        accuracy(found, budget),
        wordings(found, Room(found)),
        costs(found, Room(found)),
    ]
