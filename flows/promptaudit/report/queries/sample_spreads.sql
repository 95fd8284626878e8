select * from marts.rpt_sample_spreads
where audit_run_id = $run
order by task_id, model_id, strategy
