-- One row per run and task, as landed, with its labels in order.
with tasks as {{ of_this_build('stg_tasks') }},

labels as {{ of_this_build('stg_task_labels') }},

labels_of_tasks as (
    select
        audit_run_id,
        task_id,
        list(label order by label_index) as labels
    from labels
    group by all
),

final as (
    select
        tasks.*,
        labels_of_tasks.labels,
        {{ measure_version() }}
    from tasks
    left join labels_of_tasks using (audit_run_id, task_id)
)

select * from final
