-- a run whose rules or judges changed is open until it is derived again: raw.audit_runs says so, its marts do not.
-- A run whose build was cut short is complete without a scorecard and no base
select earlier.audit_run_id
from dim_nights as tonight
inner join dim_nights as earlier using (audit_id)
inner join raw.audit_runs as runs on earlier.audit_run_id = runs.audit_run_id
where
    tonight.audit_run_id = $run and earlier.night_number < tonight.night_number
    and earlier.origin = 'run' and runs.state = 'complete'
    and earlier.audit_run_id in (select scorecard.audit_run_id from marts.rpt_audit as scorecard)
order by earlier.night_number desc
limit 1
