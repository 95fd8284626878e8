-- The rules of marts/stability, in one statement.
{{ broken_rules([
    'fct_consistency',
    'fct_p_tau',
    'fct_prompt_stability',
    'fct_sensitivity',
]) }}
