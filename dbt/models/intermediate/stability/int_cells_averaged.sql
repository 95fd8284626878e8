-- One row per run, model, task, strategy, prompt variant and sample: shares right and invalid of its asks, and their number.
with predictions as {{ of_this_build('int_predictions_measured') }},

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        family_index,
        sample_index,
        avg(is_correct::integer) as accuracy,
        avg((answer_status != 'valid')::integer) as invalid_share,
        count(*) as n_asks
    from predictions
    group by all
)

select * from final
