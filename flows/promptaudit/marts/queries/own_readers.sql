-- one row a reader of these runs that may be a function of somebody's own, with a run and a task that it reads
with readers as (
    select
        audit_run_id,
        task_id,
        reader
    from raw.tasks
    where list_contains($runs, audit_run_id)
    qualify recorded_at is not distinct from max(recorded_at) over (partition by audit_run_id, task_id)
    union all
    select
        audit_run_id,
        task_id,
        reader
    from raw.prompt_variants
    where list_contains($runs, audit_run_id)
)

select
    reader,
    min(audit_run_id) as audit_run_id,
    min(task_id) as task_id
from readers
where reader like '%"python"%'
group by reader
order by reader
