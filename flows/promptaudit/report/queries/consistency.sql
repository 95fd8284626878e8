select
    found.audit_run_id,
    found.task_id,
    found.strategy,
    found.model_id,
    found.gold_label,
    found.consistency,
    found.consistency_low,
    found.consistency_high,
    found.consistency_distinct,
    found.n_samples
from marts.fct_consistency as found
left join marts.dim_tasks as tasks using (audit_run_id, task_id)
where found.audit_run_id = $run
order by found.task_id, found.strategy, found.model_id, list_position(tasks.labels, found.gold_label), found.gold_label
