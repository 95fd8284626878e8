-- One row per model, task and scoring method of a run whose accuracy was measured under at least two templates.
select *
from marts.fct_scoring_sensitivity
where audit_run_id = $run and n_variants > 1 and accuracy_mean is not null
order by task_id, scoring_method, model_id
