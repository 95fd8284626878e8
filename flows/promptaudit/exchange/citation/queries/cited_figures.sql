-- One row per model, task and strategy of a run: the scorecard.
select *
from marts.rpt_audit
where audit_run_id = $run
order by task_id, strategy, model_id
