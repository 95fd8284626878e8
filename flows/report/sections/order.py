"""The sections on what is measured of every run, in the page's order."""

from __future__ import annotations

from flows.report.blocks.blocks import Section
from flows.report.gather import ReportData
from flows.report.sections.answers import accuracy, formats
from flows.report.sections.by_wordings import numbers
from flows.report.sections.costs import costs
from flows.report.sections.design_widths import design_widths
from flows.report.sections.distinct_answers import variety
from flows.report.sections.label_distributions import telling
from flows.report.sections.measures_across_tasks import measures_across_tasks
from flows.report.sections.prompt_variants import wordings
from flows.report.sections.room import Room
from flows.report.sections.sample_consistency import alike
from flows.report.sections.sample_pairs import pairs
from flows.report.sections.sensitivity import consistency, sensitivity
from flows.report.sections.sensitivity_against_consistency import clouds
from flows.report.sections.sensitivity_by_class import classes
from flows.report.sections.stability import paraphrase, repetition
from flows.report.sections.stability_across_tasks import stability_across_tasks
from flows.report.sections.stability_by_model import between
from flows.report.sections.subsamples import subsamples
from flows.report.sections.variations import variations

MEASURED = (
    sensitivity, classes, telling, clouds, consistency, alike, pairs, numbers, repetition, paraphrase, between, subsamples,
    variety, formats, accuracy, wordings, costs, design_widths,
)  # fmt: skip


def measured(data: ReportData) -> list[Section]:
    """Returns the sections; each says of every task what it has, or why it has nothing."""
    whole = (measures_across_tasks(data), stability_across_tasks(data), variations(data, Room(data)))
    return [*(section for section in whole if section.blocks), *(section(data, Room(data)) for section in MEASURED)]
