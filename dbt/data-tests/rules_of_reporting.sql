-- The rules of the group reporting, in one statement.
{{ broken_rules([
    'rpt_answer_totals',
    'rpt_audit',
    'rpt_distinct_answers',
    'rpt_latest',
    'rpt_measures_across_tasks',
    'rpt_not_derived',
    'rpt_sensitivity_against_consistency',
]) }}
