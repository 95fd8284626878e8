select
    predictions.prediction_id as item,
    predictions.task_id as task,
    tasks.kind,
    tasks.labels,
    samples.input as question,
    samples.options,
    samples.gold_label,
    samples.reference_answers,
    variants.reader,
    predictions.completion,
    coalesce(asked.option_order, orders.option_order) as option_order
from marts.fct_predictions as predictions
inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
inner join marts.dim_prompt_variants as variants using (audit_run_id, task_id, prompt_variant_id)
left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
left join raw.predictions as asked using (audit_run_id, prediction_id)
where predictions.audit_run_id = $run and list_contains($items, predictions.prediction_id)
