-- one row an item that people can rule on: an answer, or a rewording
select
    predictions.prediction_id as item,
    false as is_wording,
    md5(
        concat_ws(
            chr(0),
            predictions.task_id,
            predictions.sample_id,
            coalesce(variants.reader, ''),
            coalesce(predictions.option_order, orders.option_order)::varchar,
            predictions.completion
        )
    ) as answer
from raw.predictions as predictions
semi join rulable_samples using (task_id, sample_id)
inner join raw.prompt_variants as variants using (audit_run_id, prompt_variant_id)
left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
where
    predictions.audit_run_id = $run
    and predictions.prediction_id in (select unnest($items))
    and regexp_matches(predictions.completion, '\S')
union all
select
    prompt_variant_id as item,
    true as is_wording,
    md5(concat_ws(chr(0), task_id, instruction)) as answer
from raw.prompt_variants
where
    audit_run_id = $run
    and prompt_variant_id in (select unnest($items))
    and not is_original
    and refused_because is null
    and instruction is not null
