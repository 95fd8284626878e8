-- runs of an audit that are open and whose answers so far have been read
select
    audit_run_id,
    started_at,
    run_index
from raw.audit_runs
where
    audit_id = $audit_id
    and origin = 'run'
    and state = 'running'
    and audit_run_id in (select audit_run_id from marts.fct_predictions)
