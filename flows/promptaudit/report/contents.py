"""The page as a list of sections, in its order: a new one is a file in `sections/`, its query, and a line here."""

from __future__ import annotations

from promptaudit.report.sections.accuracy_by_variant import accuracy_by_variant
from promptaudit.report.sections.agreement import agreement
from promptaudit.report.sections.answer_formats import answer_formats
from promptaudit.report.sections.consistency import consistency
from promptaudit.report.sections.costs import costs
from promptaudit.report.sections.disagreements import disagreements
from promptaudit.report.sections.distinct_answers import distinct_answers
from promptaudit.report.sections.fields import fields
from promptaudit.report.sections.format_gate import format_gate
from promptaudit.report.sections.gate_rules import gate_rules
from promptaudit.report.sections.label_distributions import label_distributions
from promptaudit.report.sections.measures_across_tasks import measures_across_tasks
from promptaudit.report.sections.measures_by_wordings import measures_by_wordings
from promptaudit.report.sections.missing_answers import missing_answers
from promptaudit.report.sections.nights import nights
from promptaudit.report.sections.preferences import preferences
from promptaudit.report.sections.prompt_variants import prompt_variants
from promptaudit.report.sections.rankings import rankings
from promptaudit.report.sections.run_changes import run_changes
from promptaudit.report.sections.sample_consistency import sample_consistency
from promptaudit.report.sections.sample_pairs import sample_pairs
from promptaudit.report.sections.scoring import scoring
from promptaudit.report.sections.scoring_across_tasks import scoring_across_tasks
from promptaudit.report.sections.sensitivity import sensitivity
from promptaudit.report.sections.sensitivity_against_consistency import sensitivity_against_consistency
from promptaudit.report.sections.sensitivity_by_class import sensitivity_by_class
from promptaudit.report.sections.stability_across_tasks import stability_across_tasks
from promptaudit.report.sections.stability_by_model import stability_by_model
from promptaudit.report.sections.stability_by_repetition import stability_by_repetition
from promptaudit.report.sections.stability_by_wording import stability_by_wording
from promptaudit.report.sections.subsamples import subsamples
from promptaudit.report.sections.variations import variations
from promptaudit.report.sections.wording_choices import wording_choices

OF_JUDGES = (scoring, scoring_across_tasks, rankings, agreement, preferences, disagreements)
# on the first page alone
OF_RUN = (gate_rules, run_changes, missing_answers, nights, *OF_JUDGES)
# on each page, of its own tasks
OF_TASKS = (
    fields,
    measures_across_tasks,
    stability_across_tasks,
    variations,
    sensitivity,
    sensitivity_by_class,
    label_distributions,
    sensitivity_against_consistency,
    consistency,
    sample_consistency,
    sample_pairs,
    measures_by_wordings,
    stability_by_repetition,
    stability_by_wording,
    stability_by_model,
    subsamples,
    distinct_answers,
    answer_formats,
    accuracy_by_variant,
    wording_choices,
    prompt_variants,
    costs,
)
SECTIONS = (*OF_RUN, *OF_TASKS, format_gate)
