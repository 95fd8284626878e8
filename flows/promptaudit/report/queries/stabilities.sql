select
    audit_run_id,
    task_id,
    strategy,
    model_id,
    scope,
    series,
    annotation_filter,
    paraphrase_temperature,
    n_annotators,
    pss,
    pss_low,
    pss_high,
    pss_wordings_low,
    pss_wordings_high,
    is_degenerate,
    n_samples,
    n_annotations,
    n_distinct_wordings
from marts.fct_prompt_stability
where
    audit_run_id = $run and annotation_filter in ('labels_and_na', 'verbatim')
    and (
        series = 'all' or scope = 'intra'
        or (series = 'cumulative' and scope = 'inter' and paraphrase_temperature is null)
    )
order by all
