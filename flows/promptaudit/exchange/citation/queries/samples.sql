-- One row per task and sample of a run, as its data had it.
select * exclude (audit_run_id)
from raw.samples
where audit_run_id = $run
order by task_id, sample_index, sample_id
