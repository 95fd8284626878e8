select
    model_id,
    task_id,
    strategy,
    sample_id,
    sensitivity
from marts.fct_sensitivity
where audit_run_id = $run
