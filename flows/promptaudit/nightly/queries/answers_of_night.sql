-- One row per answer of a model under one task and strategy: whether it is right, by a rule where one scores it, else by a judge.
with scored as (
    select
        prediction_id,
        bool_or(is_correct) filter (not starts_with(scoring_method, 'judge:') and scoring_method != 'people') as by_rule,
        bool_or(is_correct) as by_any
    from marts.fct_scores
    where audit_run_id = $run
    group by all
)

select
    predictions.prediction_id,
    predictions.sample_id,
    predictions.prompt_variant_id,
    coalesce(scored.by_rule, scored.by_any, false) as is_right
from marts.fct_predictions as predictions
left join scored using (prediction_id)
where
    predictions.audit_run_id = $run
    and predictions.model_id = $model
    and predictions.task_id = $task
    and predictions.strategy = $strategy
order by all
