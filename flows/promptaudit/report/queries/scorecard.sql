select * from marts.rpt_audit
where audit_run_id = $run
order by task_id, strategy, model_id
