select * from marts.rpt_sensitivity_against_consistency
where audit_run_id = $run
