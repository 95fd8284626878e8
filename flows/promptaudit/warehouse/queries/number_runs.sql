-- Of a file from before runs were numbered: the order in which they began.
update raw.audit_runs
set run_index = numbered.run_index
from (
    select
        audit_run_id,
        row_number() over (order by started_at, audit_run_id) as run_index
    from raw.audit_runs
) as numbered
where audit_runs.audit_run_id = numbered.audit_run_id;

update raw.acceptances
set after_run_index = (
    select count(*)
    from raw.audit_runs
    where audit_runs.started_at <= acceptances.accepted_at
);

update raw.baselines
set after_run_index = (
    select count(*)
    from raw.audit_runs
    where audit_runs.started_at <= baselines.pinned_at
);

update raw.waivers
set after_run_index = (
    select count(*)
    from raw.audit_runs
    where audit_runs.started_at <= waivers.accepted_at
);
