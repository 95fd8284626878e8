-- One row per run and task, as landed, with its labels in order.
with labels as (
    select
        audit_run_id,
        task_id,
        list(label order by label_index) as labels
    from {{ ref('stg_task_labels') }}
    where {{ in_this_build() }}
    group by all
)

select
    tasks.*,
    labels.labels,
    {{ measure_version() }}
from {{ ref('stg_tasks') }} as tasks
left join labels using (audit_run_id, task_id)
where {{ in_this_build('tasks.audit_run_id') }}
