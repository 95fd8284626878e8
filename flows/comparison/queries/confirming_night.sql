-- The order of the two does not count: exchanged they are confirmed by the same night.
-- A run whose rules changed is open until it is derived again: raw.audit_runs says so, its marts do not
with nights as (
    select
        dim_nights.audit_run_id,
        dim_nights.audit_id,
        dim_nights.night_number,
        runs.plan_fingerprint
    from dim_nights
    inner join raw.audit_runs as runs using (audit_run_id)
    where
        dim_nights.origin = 'run'
        and runs.state = 'complete'
        and dim_nights.audit_run_id in (select scorecard.audit_run_id from marts.rpt_audit as scorecard)
),

pair as (
    select
        audit_id,
        min(night_number) as older_number,
        min_by(plan_fingerprint, night_number) as older_plan,
        max(night_number) as newer_number,
        max_by(plan_fingerprint, night_number) as newer_plan
    from nights
    where list_contains($runs, audit_run_id)
    group by audit_id
    having count(*) = 2
)

select nights.audit_run_id
from nights
inner join pair using (audit_id)
where
    (nights.night_number < pair.older_number and nights.plan_fingerprint = pair.older_plan)
    or (
        nights.night_number between pair.older_number + 1 and pair.newer_number - 1
        and nights.plan_fingerprint = pair.newer_plan
    )
order by nights.night_number < pair.older_number desc, nights.night_number desc
limit 1
