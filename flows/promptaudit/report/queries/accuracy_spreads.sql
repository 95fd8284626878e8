select * from marts.rpt_accuracy_spreads
where audit_run_id = $run
