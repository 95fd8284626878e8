select * from marts.rpt_measures_across_tasks
where audit_run_id = $run
order by
    list_position(['sensitivity', 'sensitivity_corrected', 'consistency', 'micro_f1', 'pss_intra', 'pss_inter'], measure),
    task_id, strategy, is_reference, model_id
