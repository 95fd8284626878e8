-- The rules of the group judging, in one statement.
{{ broken_rules([
    'fct_judge_agreement',
    'fct_judge_controls',
    'fct_ranking_consistency',
    'fct_scores',
    'fct_scoring_sensitivity',
    'fct_variant_accuracy',
    'fct_verdicts',
    'int_answers_counted',
    'int_answers_rated',
    'int_answers_scored',
    'int_judges_verified',
    'int_model_sets',
    'int_verdicts_counted',
    'int_verdicts_read',
    'rpt_accuracy_spreads',
    'rpt_rule_against_judge',
]) }}
