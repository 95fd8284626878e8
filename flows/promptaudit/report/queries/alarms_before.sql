-- Alarms of the audit that an earlier night raised and no earlier night ended: what this run itself settled is reported when it
-- is settled, and a page that is written again says the same.
with this as (
    select
        audit_run_id,
        audit_id,
        started_at,
        run_index
    from marts.dim_audit_runs
    where audit_run_id = $run
),

alarms as (
    select
        alarms.*,
        runs.run_index,
        coalesce(runs.started_at, alarms.recorded_at) as since
    from raw.alarms
    inner join this using (audit_id)
    left join raw.audit_runs as runs on alarms.audit_run_id = runs.audit_run_id
    where
        alarms.audit_run_id != this.audit_run_id
        -- a night that failed before its run was opened has no place in the order
        and coalesce(runs.run_index < this.run_index, alarms.recorded_at < this.started_at)
)

select
    raised.alarm_id,
    raised.audit_run_id,
    raised.kind,
    raised.model_id,
    raised.task_id,
    raised.strategy,
    raised.measure,
    raised.base_run_id,
    raised.summary,
    raised.reason,
    raised.since,
    raised.run_index
from alarms as raised
where
    raised.event = 'raised'
    and not exists (
        from alarms as ended
        where ended.alarm_id = raised.alarm_id and ended.event = 'recovered'
    )
order by raised.run_index nulls last, raised.recorded_at, raised.alarm_id
