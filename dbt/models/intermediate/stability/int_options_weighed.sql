-- One row per run, model, task, strategy, sample and prompt variant whose options an engine weighed: their log-likelihoods.
{{ config(materialized='view') }}
with landed as {{ of_this_build('stg_predictions', where='option_loglikelihoods is not null') }},

measured as {{ of_this_build('int_predictions_measured') }},

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.sample_index,
        measured.prompt_variant_id,
        arg_min(landed.option_loglikelihoods, measured.repetition) as option_loglikelihoods
    from landed
    inner join measured using (audit_run_id, prediction_id)
    group by all
)

select * from final
