select * from marts.fct_scoring_sensitivity
where audit_run_id = $run
order by task_id, model_id, scoring_method = 'people', starts_with(scoring_method, 'judge:'), scoring_method
