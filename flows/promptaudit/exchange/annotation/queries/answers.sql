-- one row an answer, as rulings are spread: equal answers to a sample under equal signs of its options in equal order are one.
with answers as (
    select
        min(predictions.prediction_id) as item,
        predictions.task_id,
        predictions.sample_id,
        arg_min(predictions.prompt_variant_id, predictions.prediction_id) as prompt_variant_id,
        bool_or(predictions.answer_status = 'valid') as is_in_format,
        list(distinct predictions.model_id) as models
    from marts.fct_predictions as predictions
    semi join rulable_samples using (task_id, sample_id)
    inner join marts.dim_prompt_variants as variants using (audit_run_id, task_id, prompt_variant_id)
    left join raw.option_orders as orders using (audit_run_id, prompt_variant_id, sample_id)
    left join raw.predictions as asked using (audit_run_id, prediction_id)
    where
        predictions.audit_run_id = $run
        and list_contains($tasks, predictions.task_id)
        and predictions.answer_status not in ('error', 'empty')
    group by
        predictions.task_id,
        predictions.sample_id,
        coalesce(variants.reader, ''),
        coalesce(asked.option_order, orders.option_order),
        md5(predictions.completion)
),

scores as (
    select
        *,
        case
            when scoring_method = 'people' then 'people'
            when starts_with(scoring_method, 'judge:') then 'judge'
            else 'rule'
        end as kind
    from marts.fct_scores
    where audit_run_id = $run
)

select
    answers.item,
    answers.task_id,
    answers.sample_id,
    answers.prompt_variant_id,
    answers.is_in_format,
    answers.models,
    coalesce(bool_or(kind = 'rule' and is_correct), false) as rule_right,
    coalesce(bool_or(kind = 'rule' and not is_correct), false) as rule_wrong,
    coalesce(bool_or(kind = 'judge' and is_correct), false) as judge_right,
    coalesce(bool_or(kind = 'judge' and not is_correct), false) as judge_wrong,
    coalesce(bool_or(score_state = 'unscored') filter (kind = 'rule'), true) as is_unscored,
    coalesce(bool_or(kind = 'people' and is_correct is not null), false) as is_ruled
from answers
left join scores on answers.item = scores.prediction_id
group by all
