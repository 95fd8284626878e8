-- A copy of an earlier version calls none critical
select
    count(*) as n,
    count(*) filter (to_json(samples) ->> 'is_critical' = 'true') as n_critical
from marts.dim_samples as samples
where samples.audit_run_id = $run
