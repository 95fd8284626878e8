select
    dim_baselines.name,
    dim_baselines.pinned_at,
    audit_runs.started_at
from dim_baselines
inner join raw.audit_runs using (audit_run_id)
where dim_baselines.audit_id = $audit_id
order by dim_baselines.pinned_at
