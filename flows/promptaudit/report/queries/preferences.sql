select * exclude (measure_version)
from marts.fct_preferences
where audit_run_id = $run
order by task_id asc, scoring_method asc, strategy asc, preferred_rate desc, model_id asc
