-- The rules of the group stability, in one statement.
{{ broken_rules([
    'fct_consistency',
    'fct_p_tau',
    'fct_prompt_stability',
    'fct_sensitivity',
    'int_annotations_listed',
    'int_disagreement_shares',
    'int_groups_measured',
    'int_missing_bounded',
    'rpt_class_sensitivities',
    'rpt_measures_by_wordings',
    'rpt_pair_distances',
    'rpt_prompt_variants',
    'rpt_sample_pairs',
    'rpt_sample_similarities',
    'rpt_sample_spreads',
    'rpt_stability_by_share',
]) }}
