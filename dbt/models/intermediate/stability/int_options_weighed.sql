-- One row per run, model, task, strategy, sample and prompt variant whose options an engine weighed: their log-likelihoods.
{{ config(materialized='view') }}
with landed as (
    select * from {{ ref('stg_predictions') }}
    where option_loglikelihoods is not null and {{ in_this_build() }}
),

measured as (
    select * from {{ ref('int_predictions_measured') }}
    where {{ in_this_build() }}
),

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
