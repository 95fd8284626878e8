-- Up to $run itself, newest first.
with this as (
    select
        audit_id,
        started_at,
        audit_run_id,
        origin
    from marts.dim_audit_runs
    where audit_run_id = $run
)

select
    found.audit_run_id,
    found.started_at
from marts.dim_audit_runs as found
inner join this on found.audit_id = this.audit_id
where
    found.state = 'complete'
    -- a trial is of chosen samples: it is no night, and has none before it
    and (found.audit_run_id = this.audit_run_id or (found.origin != 'trial' and this.origin != 'trial'))
    and (found.started_at, found.audit_run_id) <= (this.started_at, this.audit_run_id)
order by found.started_at desc, found.audit_run_id desc
limit $most
