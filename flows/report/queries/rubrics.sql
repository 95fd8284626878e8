select * from marts.fct_judge_wordings
where audit_run_id = $run
order by task_id, scoring_method, wording_index
