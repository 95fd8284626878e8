select * from marts.fct_ranking_consistency
where audit_run_id = $run
order by
    task_id, scoring_method = 'people', starts_with(scoring_method, 'judge:'), scoring_method, model_set != 'all', model_set
