-- A run whose build was cut short is complete without a scorecard, and one that stopped early did not ask all
select runs.audit_run_id
from raw.audit_runs as runs
where
    runs.audit_id = $audit and runs.plan_fingerprint = $plan and runs.origin = 'run' and runs.state = 'complete'
    and runs.audit_run_id in (select scorecard.audit_run_id from marts.rpt_audit as scorecard)
    and runs.audit_run_id not in (
        select looks.audit_run_id
        from raw.looks as looks
        where looks.is_stopped
    )
order by runs.started_at desc, runs.audit_run_id desc
limit 1
