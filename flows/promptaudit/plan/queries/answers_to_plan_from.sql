-- the answers of a run that take part in its measures: all but errors
select
    predictions.*,
    tasks.kind,
    len(tasks.labels) + 1 as n_classes
from marts.fct_predictions as predictions
inner join marts.dim_tasks as tasks
    on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
where predictions.audit_run_id = $run and predictions.answer_status != 'error'
