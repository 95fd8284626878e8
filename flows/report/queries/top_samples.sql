select
    task_id,
    sample_id,
    avg(sensitivity) as sensitivity,
    max(gold_label) as gold_label
from marts.fct_sensitivity
where audit_run_id = $run and sensitivity is not null
group by all
having avg(sensitivity) > 0
order by sensitivity desc, task_id asc, sample_id asc
limit $top_samples
