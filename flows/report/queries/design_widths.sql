select * from marts.rpt_design_widths
where audit_run_id = $run
order by task_id, model_id, strategy, measure, place
