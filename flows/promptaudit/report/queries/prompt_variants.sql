select * from marts.rpt_prompt_variants
where audit_run_id = $run
