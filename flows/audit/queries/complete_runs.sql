-- complete runs of an audit that its models were asked in
select
    audit_run_id,
    started_at
from marts.dim_audit_runs
where audit_id = $audit_id and origin = 'run' and state = 'complete'
