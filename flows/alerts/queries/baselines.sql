select
    baselines.name,
    baselines.pinned_at,
    audit_runs.started_at
from raw.baselines
inner join raw.audit_runs using (audit_run_id)
where baselines.audit_id = $audit_id
qualify row_number() over (partition by baselines.name order by baselines.pinned_at desc) = 1
order by baselines.pinned_at
