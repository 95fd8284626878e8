-- The answers of one arm by each scoring method of extraction: right, wrong, or neither where an answer could not be read
with found as (
    select
        prediction_id,
        paraphrase_temperature,
        variant_index,
        is_original,
        sample_id,
        repetition
    from marts.fct_predictions
    where
        audit_run_id = $run and model_id = $model and task_id = $task
        and strategy = $strategy and list_contains($samples, sample_id)
        and answer_status != 'error'
),

field_values as (
    select
        prediction_id,
        answer_status,
        'field:' || field as scoring_method,
        is_correct
    from marts.fct_field_values
    where audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
),

rulings as (
    select
        prediction_id,
        answer_status,
        'all_fields' as scoring_method,
        bool_and(is_correct) as is_correct
    from field_values
    group by prediction_id, answer_status
    having bool_and(is_correct is not null)
    union all by name
    select * from field_values
    where is_correct is not null
)

select
    rulings.scoring_method,
    found.paraphrase_temperature,
    found.variant_index,
    found.is_original,
    found.sample_id,
    found.repetition,
    case when rulings.answer_status != 'valid' then null when rulings.is_correct then 'right' else 'wrong' end as label,
    'right' as gold_label
from found
inner join rulings using (prediction_id)
order by all
