"""The sections on what is measured of every run, in the page's order: sensitivity, consistency, PSS, answers, prompts, costs."""

from __future__ import annotations

from flows.report.blocks.blocks import Budget, Section
from flows.report.gather import Gathered
from flows.report.page_room import Room
from flows.report.sections.answers import accuracy, formats
from flows.report.sections.costs import costs
from flows.report.sections.distinct_answers import variety
from flows.report.sections.label_distributions import telling
from flows.report.sections.prompt_variants import wordings
from flows.report.sections.sample_consistency import alike
from flows.report.sections.sample_pairs import pairs
from flows.report.sections.sensitivity import consistency, sensitivity
from flows.report.sections.sensitivity_against_consistency import clouds
from flows.report.sections.sensitivity_by_class import classes
from flows.report.sections.stability import paraphrase, repetition
from flows.report.sections.stability_by_model import between
from flows.report.sections.subsamples import subsamples


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
