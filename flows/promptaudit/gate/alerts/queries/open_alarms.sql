-- a night that failed before its run was opened has no row in raw.audit_runs
with messages as (
    select
        notifications.*,
        audit_runs.run_index
    from raw.notifications
    left join raw.audit_runs using (audit_run_id)
    where audit_runs.audit_id = $audit or notifications.audit_run_id in (
        select audit_run_id from raw.alarms
        where audit_id = $audit
    )
)

select
    raised.*,
    audit_runs.run_index,
    coalesce(audit_runs.started_at, raised.recorded_at) as since,
    exists (
        from messages
        where messages.audit_run_id = raised.audit_run_id
    )
    and not exists (
        from messages
        where
            messages.state = 'sent'
            -- by the clock and by the runs, if there are two: told twice rather than never
            and messages.recorded_at >= raised.recorded_at
            and coalesce(messages.run_index >= audit_runs.run_index, true)
    ) as is_unsent
from raw.alarms as raised
left join raw.audit_runs using (audit_run_id)
where
    raised.audit_id = $audit and raised.event = 'raised'
    and not exists (
        from raw.alarms as ended
        where ended.alarm_id = raised.alarm_id and ended.event = 'recovered' and ended.audit_run_id != $run
    )
order by audit_runs.run_index nulls last, raised.recorded_at, raised.alarm_id
