select
    model_id,
    task_id,
    strategy,
    sample_id,
    sensitivity,
    mean_consistency
from marts.fct_sensitivity
where audit_run_id = $run
