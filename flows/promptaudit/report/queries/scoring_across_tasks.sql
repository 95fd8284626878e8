select * from marts.rpt_scoring_across_tasks
where audit_run_id = $run
order by task_id, list_position(['rule', 'judge', 'people'], kind), scoring_method, is_reference, model_id
