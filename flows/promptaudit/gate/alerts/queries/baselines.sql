select
    dim_baselines.name,
    audit_runs.run_index
from dim_baselines
inner join raw.audit_runs using (audit_run_id)
where dim_baselines.audit_id = $audit_id
order by audit_runs.run_index, dim_baselines.name
