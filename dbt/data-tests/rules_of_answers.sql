-- The rules of the group answers, in one statement.
{{ broken_rules([
    'dim_audit_runs',
    'dim_baselines',
    'dim_designs',
    'dim_models',
    'dim_nights',
    'dim_prompt_variants',
    'dim_samples',
    'dim_tasks',
    'fct_answer_formats',
    'fct_predictions',
    'int_answer_families',
    'int_grids',
    'int_variants_measured',
    'int_wordings_numbered',
    'stg_engines',
]) }}
