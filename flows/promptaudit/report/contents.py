"""Lists the sections of the page in order. A new one needs an object in `sections/`, its query, and a line here."""

from __future__ import annotations

from promptaudit.report.sections import (
    answers,
    consistency,
    judges,
    nights,
    scorecard,
    scoring,
    sensitivity,
    stability,
    wordings,
)

OF_JUDGES = (
    *(scoring.scoring, scoring.scoring_across_tasks, scoring.rankings),
    *(judges.agreement, judges.preferences, judges.disagreements),
)
# on the first page alone
OF_RUN = (nights.gate_rules, nights.run_changes, answers.missing_answers, nights.nights, *OF_JUDGES)
# on each page, of its own tasks
OF_TASKS = (
    *(answers.fields, scorecard.measures_across_tasks, stability.stability_across_tasks, wordings.variations),
    *(sensitivity.sensitivity, sensitivity.sensitivity_by_class, sensitivity.label_distributions),
    sensitivity.sensitivity_against_consistency,
    *(consistency.consistency, consistency.sample_consistency, consistency.sample_pairs),
    *(sensitivity.measures_by_wordings, stability.stability_by_repetition, stability.stability_by_wording),
    *(stability.stability_by_model, stability.subsamples, answers.distinct_answers, answers.answer_formats),
    *(wordings.accuracy_by_variant, wordings.wording_choices, wordings.prompt_variants, answers.costs),
)
SECTIONS = (*OF_RUN, *OF_TASKS, nights.format_gate)
