select * from marts.rpt_night_verdicts
where audit_run_id = $run
order by task_id, strategy, model_id, measure
