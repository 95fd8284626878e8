-- one row an answer that judges are to rule on: equal answers to a sample under equal signs and order of its options are one
with asked as (
    select
        predictions.prediction_id,
        predictions.model_id,
        predictions.task_id,
        predictions.prompt_variant_id,
        predictions.sample_id,
        regexp_matches(predictions.completion, '\S') as is_said,
        variants.reader,
        coalesce(predictions.option_order, orders.option_order) as option_order,
        md5(
            concat_ws(
                chr(0),
                predictions.sample_id,
                coalesce(variants.reader, ''),
                coalesce(predictions.option_order, orders.option_order)::varchar,
                predictions.completion
            )
        ) as answer
    from raw.predictions as predictions
    inner join raw.prompt_variants as variants using (audit_run_id, prompt_variant_id)
    left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
    where predictions.audit_run_id = $run and predictions.task_id in (select unnest($tasks))
),

answers as (
    select
        min(asked.prediction_id) as prediction_id,
        asked.task_id,
        asked.sample_id,
        any_value(asked.reader) as reader,
        any_value(asked.option_order) as option_order,
        asked.answer
    from asked
    inner join raw.samples as samples using (task_id, sample_id)
    where
        samples.audit_run_id = $run
        and asked.is_said
        and (not $needs_key or samples.gold_label is not null or samples.reference_answers is not null)
    group by all
),

settled as (
    select
        asked.task_id,
        verdicts.repetition,
        asked.answer
    from raw.verdicts as verdicts
    inner join asked using (prediction_id)
    where
        verdicts.audit_run_id = $run
        and verdicts.judge_id = $judge
        and verdicts.judge_key = $key
        and verdicts.is_settled
)

select
    answers.prediction_id,
    asks.repetition,
    answers.task_id,
    answers.sample_id,
    answers.reader,
    answers.option_order
from answers
cross join (select unnest(range(1, $repetitions + 1))::integer as repetition) as asks
anti join settled using (task_id, answer, repetition)
