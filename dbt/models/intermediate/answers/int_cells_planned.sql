-- One row per run, model, prompt variant and repetition: how many samples it is asked for, and whether that is a part of those
-- that the wording is asked for.
with variants as (
    select
        *,
        unnest(repetitions) as repetition
    from {{ ref('stg_prompt_variants') }}
    where {{ in_this_build() }}
),

models as {{ of_this_build('stg_models') }},

samples as {{ of_this_build('stg_samples') }},

grid as {{ of_this_build('stg_grid') }},

asked_for_all as (
    select
        variants.audit_run_id,
        variants.prompt_variant_id,
        variants.repetition,
        count(*) as n_samples
    from variants
    inner join samples using (audit_run_id, task_id)
    anti join grid using (audit_run_id, prompt_variant_id, repetition)
    group by all
),

dealt as (
    select
        * exclude (sample_ids),
        unnest(sample_ids) as sample_id
    from grid
),

asked_for_some as (
    select
        dealt.audit_run_id,
        dealt.prompt_variant_id,
        dealt.repetition,
        count(*) as n_samples
    from dealt
    inner join variants using (audit_run_id, prompt_variant_id, repetition)
    inner join samples using (audit_run_id, task_id, sample_id)
    group by all
),

asked as (
    select * from asked_for_all
    union all by name
    select * from asked_for_some
),

planned as (
    select
        variants.audit_run_id,
        models.model_id,
        variants.task_id,
        variants.strategy,
        variants.prompt_variant_id,
        variants.repetition,
        asked.n_samples as n_planned
    from variants
    inner join asked using (audit_run_id, prompt_variant_id, repetition)
    inner join models
        on
            variants.audit_run_id = models.audit_run_id
            and (variants.model_ids is null or list_contains(variants.model_ids, models.model_id))
),

final as (
    select
        *,
        n_planned < max(n_planned) over (partition by audit_run_id, model_id, prompt_variant_id) as is_partial
    from planned
)

select * from final
