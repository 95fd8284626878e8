-- the answers of a run that take part in its measures; a pilot has not been through the format gate, so that what the gate
-- would keep out for its invalid answers is kept out here
select
    predictions.*,
    tasks.kind,
    len(tasks.labels) + 1 as n_classes
from marts.fct_predictions as predictions
inner join marts.dim_tasks as tasks
    on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
where predictions.audit_run_id = $run and predictions.answer_status != 'error' and not predictions.is_quarantined
qualify
    avg((predictions.answer_status != 'valid')::integer)
        over (partition by predictions.model_id, predictions.prompt_variant_id)
    <= $max_invalid_rate
