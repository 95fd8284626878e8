-- The rules of marts/reporting, in one statement.
{{ broken_rules([
    'fct_answer_formats',
    'rpt_accuracy_spreads',
    'rpt_answer_totals',
    'rpt_audit',
    'rpt_class_sensitivities',
    'rpt_distinct_answers',
    'rpt_latest',
    'rpt_prompt_variants',
    'rpt_rule_against_judge',
    'rpt_sample_similarities',
    'rpt_sample_spreads',
    'rpt_stability_by_share',
]) }}
