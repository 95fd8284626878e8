-- The labels of tasks that can be tried, with their descriptions; a label that its card does not describe has none.
select
    labels.task_id,
    labels.label,
    labels.description
from raw.task_labels as labels
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
where labels.audit_run_id = $run and tasks.kind = 'classification'
order by labels.task_id, labels.label_index
