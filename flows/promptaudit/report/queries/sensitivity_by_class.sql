select found.*
from marts.rpt_class_sensitivities as found
left join marts.dim_tasks as tasks using (audit_run_id, task_id)
where found.audit_run_id = $run
order by
    found.task_id, found.model_id, list_position(tasks.labels, found.gold_label), found.gold_label, found.strategy
