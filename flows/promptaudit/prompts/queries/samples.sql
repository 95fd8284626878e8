-- One row per wanted sample of a run.
select
    task_id,
    sample_id,
    samples.input,
    samples.gold_label,
    samples.options,
    samples.reference_answers,
    samples.fields
from raw.samples as samples
semi join (
    select
        unnest($task_ids::varchar[]) as task_id,
        unnest($sample_ids::varchar[]) as sample_id
) as wanted using (task_id, sample_id)
where samples.audit_run_id = $run
