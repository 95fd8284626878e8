select * from marts.rpt_distinct_answers
where audit_run_id = $run
order by task_id, model_id, strategy, repetition, paraphrase_temperature
