select * from marts.fct_judge_agreement
where audit_run_id = $run
order by task_id, kind, raters
