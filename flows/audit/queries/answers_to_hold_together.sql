-- What two runs of one plan were answered to the samples of one model, task and strategy that both have. Numbered as the model
-- int_answers_paired numbers them, which reads whole comparisons; `watched_differences` keeps what both runs were asked
with answers as (
    select
        predictions.*,
        if(predictions.audit_run_id = $base, 0, 1) as side
    from marts.fct_predictions as predictions
    where
        predictions.audit_run_id in ($base, $run)
        and predictions.model_id = $model and predictions.task_id = $task and predictions.strategy = $strategy
        and predictions.answer_status != 'error' and not predictions.is_quarantined
),

shared as (
    select sample_id
    from answers
    group by all
    having count(distinct side) = 2
)

select
    answers.side,
    dense_rank() over (order by answers.sample_id) as sample,
    dense_rank() over (order by answers.prompt_variant_id) as variant,
    if(
        answers.paraphrase_temperature is null, -1, dense_rank() over (order by answers.paraphrase_temperature)
    ) as temperature,
    answers.is_original,
    answers.repetition,
    coalesce(labels.label_index, -1) as label,
    coalesce(golds.label_index, -1) as gold
from answers
semi join shared on answers.sample_id = shared.sample_id
left join raw.task_labels as labels
    on labels.audit_run_id = $run and labels.task_id = $task and answers.label = labels.label
left join raw.task_labels as golds
    on golds.audit_run_id = $run and golds.task_id = $task and answers.gold_label = golds.label
