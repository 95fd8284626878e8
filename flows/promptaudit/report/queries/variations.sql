select * from marts.fct_variations
where audit_run_id = $run
qualify count(*) over (partition by model_id, task_id, strategy) > 1
order by task_id, model_id, strategy, variation
