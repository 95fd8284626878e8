select avg(sensitivity) as sensitivity from marts.fct_sensitivity
where
    audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
    and list_contains($samples, sample_id)
