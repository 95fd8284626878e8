-- The rules of the group comparison in one statement.
{{ broken_rules([
    'fct_flips',
    'int_answers_paired',
    'int_differences',
    'int_groups_apart',
    'int_groups_paired',
    'int_values_paired',
    'int_runs_described',
    'int_samples_paired',
    'int_sides_paired',
    'int_variants_paired',
    'rpt_run_changes',
    'rpt_run_comparisons',
]) }}
