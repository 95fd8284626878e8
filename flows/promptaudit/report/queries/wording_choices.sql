-- Of each group the wordings that speak most for themselves, and the original.
select * from marts.rpt_wording_choices
where audit_run_id = $run and (choice_rank <= 3 or is_original)
order by task_id, strategy, model_id, scoring_method, choice_rank
