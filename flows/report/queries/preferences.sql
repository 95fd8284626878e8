select * exclude (measure_version)
from marts.fct_preferences
where audit_run_id = $run
order by task_id, scoring_method, strategy, preferred_rate desc, model_id
