select * from marts.rpt_sample_pairs
where audit_run_id = $run
order by task_id, gold_label, place, other_place
