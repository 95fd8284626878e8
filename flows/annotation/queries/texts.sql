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
inner join marts.dim_prompt_variants as variants
    on predictions.audit_run_id = variants.audit_run_id and predictions.prompt_variant_id = variants.prompt_variant_id
left join raw.predictions as asked
    on predictions.audit_run_id = asked.audit_run_id and predictions.prediction_id = asked.prediction_id
left join raw.option_orders as orders
    on
        predictions.audit_run_id = orders.audit_run_id
        and predictions.prompt_variant_id = orders.prompt_variant_id
        and predictions.sample_id = orders.sample_id
where predictions.audit_run_id = $run and list_contains($items, predictions.prediction_id)
