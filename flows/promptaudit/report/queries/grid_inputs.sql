-- One row per chosen task and sample: what a prompt was filled with.
select
    samples.task_id,
    samples.sample_id,
    samples.gold_label,
    samples.options,
    samples.reference_answers,
    left(samples.input, $long) as input,
    if(length(samples.fields) <= $most_fields, samples.fields, null) as fields
from marts.dim_samples as samples
semi join (
    select distinct
        task_id,
        sample_id
    from (
        select
            unnest($task_ids::varchar[]) as task_id,
            unnest($sample_ids::varchar[]) as sample_id
    ) as listed
) as chosen using (task_id, sample_id)
where samples.audit_run_id = $run
order by samples.task_id, samples.sample_index, samples.sample_id
