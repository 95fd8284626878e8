select * from marts.rpt_run_comparisons
where list_contains($ids, comparison_id)
order by task_id, strategy, model_id, measure
