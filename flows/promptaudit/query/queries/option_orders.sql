-- One row per prediction of a run whose options were shown in another order than the data's.
select
    predictions.prediction_id,
    coalesce(predictions.option_order, orders.option_order) as option_order
from raw.predictions as predictions
left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
where audit_run_id = $run and coalesce(predictions.option_order, orders.option_order) is not null
