-- One row per comparison, model, task, strategy, scoring method, side, sample and prompt variant: how often the side is right.
{{ config(materialized='view') }}
with sides as {{ all_of('int_sides_paired') }},

scores as (
    select * from {{ ref('int_scores_averaged').include(database=false) }}
    -- people rule on questions of one run
    where accuracy is not null and scoring_method != 'people' and {{ in_this_build() }}
),

own_samples as {{ of_this_build('stg_samples') }},

samples as {{ all_of('int_samples_paired') }},

variants as {{ all_of('int_variants_paired') }},

final as (
    select
        sides.comparison_id,
        sides.model_id,
        sides.task_id,
        sides.strategy,
        scores.scoring_method,
        sides.side,
        samples.sample_index,
        variants.variant,
        scores.accuracy
    from sides
    inner join scores
        on
            sides.audit_run_id = scores.audit_run_id
            and sides.own_model_id = scores.model_id
            and sides.task_id = scores.task_id
            and sides.own_strategy = scores.strategy
    -- numbered in either run as in the base: a sample's place is its run's own
    inner join own_samples
        on
            scores.audit_run_id = own_samples.audit_run_id
            and scores.task_id = own_samples.task_id
            and scores.sample_index = own_samples.sample_index
    inner join samples
        on
            sides.comparison_id = samples.comparison_id
            and sides.task_id = samples.task_id
            and own_samples.sample_id = samples.sample_id
    inner join variants
        on
            sides.comparison_id = variants.comparison_id
            and sides.task_id = variants.task_id
            and sides.strategy = variants.strategy
            and scores.prompt_variant_id = variants.prompt_variant_id
)

select * from final
