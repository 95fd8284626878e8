select
    task_id,
    strategy,
    model_id,
    least(floor(sensitivity * 20), 19)::integer as bin,
    count(*) as n
from marts.fct_sensitivity
where audit_run_id = $run and sensitivity is not null
group by all
order by all
