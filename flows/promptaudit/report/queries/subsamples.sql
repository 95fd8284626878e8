select * from marts.rpt_stability_by_share
where audit_run_id = $run
