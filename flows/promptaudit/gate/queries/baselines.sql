select
    name,
    audit_run_id
from dim_baselines
where audit_id = $audit_id
order by pinned_at, audit_run_id
