select
    found.audit_run_id,
    found.task_id,
    found.sample_id,
    found.strategy,
    found.model_id,
    found.sensitivity
from marts.fct_sensitivity as found
semi join top_samples as top on found.task_id = top.task_id and found.sample_id = top.sample_id
where found.audit_run_id = $run
order by found.task_id, found.sample_id, found.strategy, found.model_id
