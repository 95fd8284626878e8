select
    predictions.prediction_id as item,
    predictions.sample_id,
    predictions.task_id as task,
    tasks.kind,
    tasks.labels,
    samples.input as question,
    samples.options,
    samples.gold_label,
    samples.reference_answers,
    variants.reader,
    predictions.prompt_variant_id,
    predictions.completion
from marts.fct_predictions as predictions
inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
inner join marts.dim_prompt_variants as variants
    on predictions.audit_run_id = variants.audit_run_id and predictions.prompt_variant_id = variants.prompt_variant_id
where predictions.audit_run_id = $run and list_contains($items, predictions.prediction_id)
