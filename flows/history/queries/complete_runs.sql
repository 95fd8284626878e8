select
    audit_id,
    audit_run_id
from marts.dim_audit_runs
where state = 'complete' and origin != 'trial'
order by started_at, audit_run_id
