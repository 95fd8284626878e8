select
    task_id,
    model_id,
    strategy,
    least(floor(mean_consistency * $n_bins), $n_bins - 1)::integer as bin,
    count(*) as n
from marts.fct_sensitivity
where audit_run_id = $run and mean_consistency is not null
group by all
order by all
