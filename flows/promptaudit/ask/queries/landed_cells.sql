select
    predictions.model_id,
    predictions.prompt_variant_id,
    predictions.sample_id,
    predictions.repetition
from raw.predictions
inner join (
    select
        unnest($models) as model_id,
        unnest($variants) as prompt_variant_id
) as pairs using (model_id, prompt_variant_id)
where predictions.audit_run_id = $run
