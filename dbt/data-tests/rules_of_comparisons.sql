-- The rules of comparisons and what they are made of, in one statement.
{{ broken_rules([
    'int_answers_paired',
    'int_groups_paired',
    'int_measures_compared',
    'int_runs_described',
    'int_samples_paired',
    'int_scores_averaged',
    'int_sides_paired',
    'int_variants_measured',
    'int_variants_paired',
    'fct_flips',
    'rpt_run_changes',
    'rpt_run_comparisons',
]) }}
