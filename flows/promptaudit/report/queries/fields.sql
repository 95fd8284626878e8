select * from marts.fct_field_stability
where audit_run_id = $run
order by task_id, strategy, model_id, field != 'all_fields', field
