select
    name,
    audit_run_id
from dim_baselines
order by pinned_at
