-- Whether each sample of a task was asked under some of its wordings alone
select coalesce(bool_or(wordings_per_sample is not null), false) as is_in_part
from marts.dim_designs
where audit_run_id = $run and task_id = $task
