-- The verdicts of each night against the normal nights before it
select
    verdicts.audit_run_id,
    verdicts.model_id,
    verdicts.task_id,
    verdicts.strategy,
    verdicts.measure,
    verdicts.verdict,
    concat_ws(': ', verdicts.reason, verdicts.what_changed) as reason,
    verdicts.base,
    verdicts.difference_low,
    verdicts.difference_high
from marts.rpt_night_verdicts as verdicts
inner join nights using (audit_run_id)
order by verdicts.audit_run_id, verdicts.task_id, verdicts.strategy, verdicts.model_id, verdicts.measure
