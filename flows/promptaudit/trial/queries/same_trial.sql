select
    audit_run_id,
    state
from raw.audit_runs
where
    audit_id = $audit_id and origin = $origin
    and plan_fingerprint = $plan_fingerprint
order by run_index desc limit 1
