select * from marts.fct_variant_accuracy
where audit_run_id = $run and accuracy is not null
order by task_id, strategy, model_id, scoring_method = 'people', scoring_method, accuracy, prompt_variant_id
