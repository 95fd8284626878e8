-- The rules of marts/core, in one statement.
{{ broken_rules([
    'dim_audit_runs',
    'dim_models',
    'dim_prompt_variants',
    'dim_samples',
    'dim_tasks',
    'fct_predictions',
    'stg_engines',
]) }}
