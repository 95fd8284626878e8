-- How much the answers to each sample depend on the wording; of extraction, the share of them that are right in all fields
with answers as (
    select
        model_id,
        task_id,
        strategy,
        sample_id,
        bool_and(is_correct) as is_correct
    from marts.fct_field_values
    where
        audit_run_id = $run and prediction_id in (
            select predictions.prediction_id
            from marts.fct_predictions as predictions
            where predictions.audit_run_id = $run and predictions.answer_status != 'error'
        )
    group by model_id, task_id, strategy, sample_id, prediction_id
    having bool_and(is_correct is not null)
)

select
    model_id,
    task_id,
    strategy,
    sample_id,
    sensitivity,
    mean_consistency,
    null::double as accuracy
from marts.fct_sensitivity
where audit_run_id = $run
union all
select
    model_id,
    task_id,
    strategy,
    sample_id,
    null as sensitivity,
    null as mean_consistency,
    avg(is_correct::integer) as accuracy
from answers
group by all
