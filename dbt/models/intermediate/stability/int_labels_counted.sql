-- One row per run, model, prompt variant, sample and label it was given (-1 is N/A): how often, and the share p_ivc.
with predictions as {{ of_this_build('int_predictions_measured') }},

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        wording_index,
        family_index,
        sample_id,
        sample_index,
        gold_label,
        label_index,
        count(*) as n_answers
    from predictions
    group by all
),

final as (
    select
        *,
        sum(n_answers) over (
            partition by audit_run_id, model_id, prompt_variant_id, sample_index
        ) as n_repetitions,
        n_answers / n_repetitions as p_variant
    from counted
)

select * from final
