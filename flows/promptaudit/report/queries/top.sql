select
    top.*,
    left(samples.input, $long) as input
from top_samples as top
left join marts.dim_samples as samples
    on samples.audit_run_id = $run and top.task_id = samples.task_id and top.sample_id = samples.sample_id
order by top.sensitivity desc, top.task_id asc, top.sample_id asc
