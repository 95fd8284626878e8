select
    name,
    audit_run_id
from raw.baselines
where audit_id = $audit and audit_run_id != $run
qualify row_number() over (partition by name order by pinned_at desc) = 1
