-- runs of an audit that have answers in the marts, newest first: complete ones, and pilots, which are not complete yet
select
    audit_run_id,
    state = 'complete' as is_complete,
    started_at
from raw.audit_runs
where
    audit_id = $audit_id
    and origin = 'run'
    and state in ('complete', 'running')
    and audit_run_id in (select audit_run_id from marts.fct_predictions)
order by started_at desc, audit_run_id desc
