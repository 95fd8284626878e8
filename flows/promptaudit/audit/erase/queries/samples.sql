-- A run that was never finished asks nothing any more once a newer one has taken its place; a trial does not without its
-- sample's text in the run that it starts from, and an import never asks.
select
    samples.audit_run_id,
    samples.task_id,
    samples.sample_id,
    samples.input,
    samples.options,
    samples.reference_answers,
    samples.fields,
    runs.state = 'running' and runs.origin = 'run' and not exists (
        from raw.audit_runs as newer
        where newer.audit_id = runs.audit_id and newer.origin = runs.origin and newer.run_index > runs.run_index
    ) as goes_on
from raw.samples as samples
inner join raw.audit_runs as runs using (audit_run_id)
where samples.sample_id = $sample and samples.task_id = coalesce($task, samples.task_id)
order by all
