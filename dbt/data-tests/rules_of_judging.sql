-- The rules of marts/judging, in one statement.
{{ broken_rules([
    'fct_judge_agreement',
    'fct_judge_controls',
    'fct_ranking_consistency',
    'fct_scores',
    'fct_scoring_sensitivity',
    'fct_variant_accuracy',
    'fct_verdicts',
]) }}
