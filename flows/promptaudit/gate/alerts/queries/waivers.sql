select
    waivers.rule,
    waivers.model_id,
    waivers.task_id,
    waivers.strategy,
    waivers.measure,
    coalesce(waivers.after_run_index, audit_runs.run_index) as after_run_index
from raw.waivers
inner join raw.audit_runs using (audit_run_id)
where waivers.audit_id = $audit_id and waivers.valid_until > $now
order by after_run_index, waivers.waiver_id
