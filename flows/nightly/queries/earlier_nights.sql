select audit_run_id
from raw.audit_runs
where
    audit_id = $audit and origin = 'run' and state = 'complete'
    and audit_run_id in (select audit_run_id from marts.rpt_audit)
    and started_at < (
        select tonight.started_at from raw.audit_runs as tonight
        where tonight.audit_run_id = $run
    )
order by started_at desc
limit 2
