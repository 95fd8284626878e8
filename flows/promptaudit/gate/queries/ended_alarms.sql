select
    model_id,
    task_id,
    strategy,
    reason
from marts.rpt_alarms
where last_run_id = $run and ended_by in ('accepted', 'false') and reason is not null
