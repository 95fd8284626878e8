-- a verdict that waits to land though the run has no such judge, or no such answer or control
select
    incoming.judge_id,
    coalesce(incoming.prediction_id, incoming.control_id) as judged_id
from incoming
left join raw.judges as judges
    on judges.audit_run_id = $run and incoming.judge_id = judges.judge_id
left join raw.predictions as predictions
    on predictions.audit_run_id = $run and incoming.prediction_id = predictions.prediction_id
left join raw.judge_controls as controls
    on controls.audit_run_id = $run and incoming.control_id = controls.control_id
where
    judges.judge_id is null
    or (predictions.prediction_id is null and controls.control_id is null)
order by judged_id
limit 1
