select * from marts.rpt_answer_totals
where audit_run_id = $run
order by task_id, model_id, strategy
