-- The rules of intermediate models, in one statement.
{{ broken_rules([
    'int_annotations_listed',
    'int_answers_counted',
    'int_answers_rated',
    'int_answers_scored',
    'int_disagreement_shares',
    'int_groups_measured',
    'int_model_sets',
    'int_verdicts_counted',
    'int_verdicts_read',
    'int_wordings_numbered',
]) }}
