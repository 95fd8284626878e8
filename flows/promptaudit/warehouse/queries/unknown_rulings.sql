-- a verdict that waits to land though the run has no such judge, or no such answer, control or rewording
select
    incoming.judge_id,
    coalesce(incoming.prediction_id, incoming.control_id, incoming.prompt_variant_id) as judged_id
from incoming
left join raw.judges as judges
    on judges.audit_run_id = $run and incoming.judge_id = judges.judge_id
left join raw.predictions as predictions
    on predictions.audit_run_id = $run and incoming.prediction_id = predictions.prediction_id
left join raw.predictions as others
    on others.audit_run_id = $run and incoming.other_prediction_id = others.prediction_id
left join raw.judge_controls as controls
    on controls.audit_run_id = $run and incoming.control_id = controls.control_id
left join raw.prompt_variants as variants
    on variants.audit_run_id = $run and incoming.prompt_variant_id = variants.prompt_variant_id
where
    judges.judge_id is null
    or coalesce(predictions.prediction_id, controls.control_id, variants.prompt_variant_id) is null
    or (incoming.other_prediction_id is not null and others.prediction_id is null)
order by judged_id
limit 1
