-- complete runs of an audit, of these origins
select
    audit_run_id,
    started_at,
    run_index
from marts.dim_audit_runs
where audit_id = $audit_id and list_contains($origins, origin) and state = 'complete'
