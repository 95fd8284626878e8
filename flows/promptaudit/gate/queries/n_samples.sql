select
    count(*) as n,
    count(*) filter (is_critical) as n_critical
from marts.dim_samples
where audit_run_id = $run
