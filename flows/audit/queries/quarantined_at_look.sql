select
    model_id,
    task_id,
    strategy,
    prompt_variant_id,
    count(*) filter (answer_status != 'error') as n_answers,
    count(*) filter (answer_status not in ('valid', 'error')) as n_invalid
from marts.fct_predictions
where audit_run_id = $run and is_quarantined
group by all
