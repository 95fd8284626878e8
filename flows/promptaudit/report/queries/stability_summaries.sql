select * exclude (measure_version)
from marts.rpt_stability_summaries
where audit_run_id = $run and annotation_filter = 'valid'
order by task_id, scope, strategy, model_id
