select
    model_id,
    task_id,
    strategy,
    state,
    n_nights_normal,
    n_samples,
    n_samples_counted,
    n_samples_shared,
    memory
from marts.rpt_night_states
where audit_run_id = $run
order by task_id, strategy, model_id
