select
    coalesce(runs.audit_run_id, sealed.audit_run_id) as audit_run_id,
    runs.audit_id,
    runs.state
from raw.audit_runs as runs
full join (select distinct audit_run_id from raw.seals) as sealed using (audit_run_id)
order by runs.started_at nulls last, audit_run_id
