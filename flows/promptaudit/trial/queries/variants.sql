select * from raw.prompt_variants
where audit_run_id = $run and refused_because is null
order by task_id, strategy, paraphrase_temperature nulls first, variant_index
