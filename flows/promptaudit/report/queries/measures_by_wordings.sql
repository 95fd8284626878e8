select * from marts.rpt_measures_by_wordings
where audit_run_id = $run
order by task_id, model_id, strategy, n_wordings
