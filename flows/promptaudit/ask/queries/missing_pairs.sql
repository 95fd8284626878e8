-- one row a pair of answers to the same prompt and order of the two that a judge is to rule on; equal pairs to a sample are one
with asked as (
    select
        predictions.prediction_id,
        predictions.model_id,
        predictions.task_id,
        predictions.prompt_variant_id,
        predictions.sample_id,
        predictions.completion
    from raw.predictions as predictions
    where
        predictions.audit_run_id = $run
        and predictions.task_id in (select unnest($tasks))
        and predictions.repetition = 1
        and regexp_matches(predictions.completion, '\S')
),

pairs as (
    select
        min([own.prediction_id, other.prediction_id]) as ids,
        own.task_id,
        own.sample_id,
        md5(own.completion) as own_md5,
        md5(other.completion) as other_md5
    from asked as own
    inner join asked as other using (task_id, prompt_variant_id, sample_id)
    where own.model_id != $against and other.model_id = $against and own.completion != other.completion
    group by all
),

settled as (
    select
        own.task_id,
        own.sample_id,
        md5(own.completion) as own_md5,
        md5(other.completion) as other_md5,
        verdicts.repetition
    from raw.verdicts as verdicts
    inner join asked as own on verdicts.prediction_id = own.prediction_id
    inner join asked as other on verdicts.other_prediction_id = other.prediction_id
    where
        verdicts.audit_run_id = $run
        and verdicts.judge_id = $judge
        and verdicts.judge_key = $key
        and verdicts.is_settled
)

select
    pairs.ids[1] as prediction_id,
    pairs.ids[2] as other_prediction_id,
    orders.repetition,
    pairs.task_id,
    pairs.sample_id
from pairs
cross join (select unnest([1, 2])::integer as repetition) as orders
anti join settled using (task_id, sample_id, own_md5, other_md5, repetition)
