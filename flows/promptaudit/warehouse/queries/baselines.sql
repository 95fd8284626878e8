select
    dim_baselines.name,
    dim_baselines.audit_run_id
from dim_baselines
inner join raw.baselines using (audit_id, name, audit_run_id, pinned_at)
order by baselines.after_run_index, pinned_at, audit_run_id
