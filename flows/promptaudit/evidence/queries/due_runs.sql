-- Of raw.audit_runs and not of dim_nights: a run whose rules or judges changed is open, and needs its raw rows, while its
-- marts still say complete.
with nights as (
    select
        audit_run_id,
        started_at,
        run_index,
        row_number() over (order by run_index desc) as age
    from raw.audit_runs
    where audit_id = $audit and origin = 'run' and state = 'complete'
),

needed as (
    select audit_run_id from dim_baselines
    union all
    select any_value(base_run_id)
    from raw.alarms
    group by alarm_id
    having not bool_or(event = 'recovered')
    union all
    select unnest($keep::varchar[])
)

select
    audit_run_id,
    started_at
from nights
semi join raw_rows using (audit_run_id)
anti join needed on nights.audit_run_id = needed.audit_run_id
-- rows that stray in later must not take the place of those in the archive
anti join retired on nights.audit_run_id = retired.audit_run_id
where age > $raw_nights
order by run_index
