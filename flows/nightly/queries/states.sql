select
    model_id,
    task_id,
    strategy,
    state
from marts.rpt_night_states
where audit_run_id = $run
order by task_id, strategy, model_id
