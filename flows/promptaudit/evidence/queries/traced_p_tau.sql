select
    audit_run_id,
    model_id,
    sample_id,
    label,
    p_tau,
    n_variants
from marts.fct_p_tau
where
    list_contains($runs, audit_run_id) and list_contains($models, model_id) and task_id = $task
    and list_contains($strategies, strategy)
    and list_contains($samples, sample_id)
order by list_position($runs, audit_run_id), model_id, sample_id, label nulls last
