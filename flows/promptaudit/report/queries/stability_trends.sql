select * exclude (measure_version)
from marts.fct_stability_trends
where audit_run_id = $run
order by task_id, strategy, model_id
