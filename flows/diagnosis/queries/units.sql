select
    model_id,
    task_id,
    strategy,
    invalid_rate,
    invalid_rate_low
from marts.rpt_audit
where audit_run_id = $run
order by all
