select
    audit_run_id,
    audit_runs.finished_at
from raw.nights as begun
inner join raw.audit_runs using (audit_run_id)
where
    begun.audit_id = $audit and begun.step = 'begun' and audit_runs.state = 'complete'
    and not exists (
        from raw.nights as ended
        where ended.night_id = begun.night_id and ended.step = 'finished'
    )
order by audit_runs.run_index
