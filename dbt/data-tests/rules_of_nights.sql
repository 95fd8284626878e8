-- The rules of the group nights in one statement.
{{ broken_rules([
    'dim_groups',
    'fct_nights_apart',
    'fct_sample_values',
    'int_nights_before',
    'int_nights_in_use',
    'int_samples_kept',
    'int_samples_landed',
    'int_streams_adjusted',
    'int_streams_tested',
    'int_values_of_answers',
    'int_values_of_samples',
    'int_values_of_scores',
    'rpt_alarms',
    'rpt_night_figures',
    'rpt_night_states',
    'rpt_night_verdicts',
]) }}
