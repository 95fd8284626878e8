-- One row per wanted sample of a run.
select samples.*
from raw.samples as samples
semi join (
    select
        unnest($task_ids::varchar[]) as task_id,
        unnest($sample_ids::varchar[]) as sample_id
) as wanted using (task_id, sample_id)
where samples.audit_run_id = $run
