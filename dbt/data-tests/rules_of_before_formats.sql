-- The rules of what is built before the format gate, in one statement.
{{ broken_rules([
    'int_answer_formats',
    'int_predictions_labelled',
    'stg_audit_runs',
]) }}
