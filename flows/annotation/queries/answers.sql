-- one row an answer, as rulings are spread: equal answers to a sample under equal signs of its options in equal order are one.
with answers as (
    select
        min(predictions.prediction_id) as item,
        predictions.task_id,
        predictions.sample_id
    from marts.fct_predictions as predictions
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    inner join marts.dim_prompt_variants as variants
        on
            predictions.audit_run_id = variants.audit_run_id
            and predictions.prompt_variant_id = variants.prompt_variant_id
    left join raw.predictions as asked
        on predictions.audit_run_id = asked.audit_run_id and predictions.prediction_id = asked.prediction_id
    left join raw.option_orders as orders
        on
            predictions.audit_run_id = orders.audit_run_id
            and predictions.prompt_variant_id = orders.prompt_variant_id
            and predictions.sample_id = orders.sample_id
    where
        predictions.audit_run_id = $run
        and list_contains($tasks, predictions.task_id)
        and predictions.answer_status not in ('error', 'empty')
        and not predictions.is_quarantined
        and samples.has_key
    group by
        predictions.task_id,
        predictions.sample_id,
        coalesce(variants.reader, ''),
        coalesce(asked.option_order, orders.option_order),
        md5(predictions.completion)
)

select
    answers.item,
    answers.task_id,
    answers.sample_id,
    list(distinct is_correct)
    filter (is_correct is not null and scoring_method != 'people' and not starts_with(scoring_method, 'judge:'))
        as rules,
    list(distinct is_correct) filter (is_correct is not null and starts_with(scoring_method, 'judge:'))
        as judges,
    coalesce(
        bool_or(score_state = 'unscored')
        filter (scoring_method != 'people' and not starts_with(scoring_method, 'judge:')),
        true
    )
        as is_unscored
from answers
left join marts.fct_scores as scores on scores.audit_run_id = $run and answers.item = scores.prediction_id
group by all
