select * from marts.dim_designs
where audit_run_id = $run
order by task_id, strategy, model_id
