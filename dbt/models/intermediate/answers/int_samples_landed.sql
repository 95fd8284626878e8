-- One row per run, model, task, strategy and sample: how many of its cells were planned, and how many answers came of them.
with variants as (
    select
        *,
        unnest(repetitions) as repetition
    from {{ ref('stg_prompt_variants') }}
    where not is_refused and {{ in_this_build() }}
),

variants_asked as {{ of_this_build('int_variants_asked') }},

samples as {{ of_this_build('stg_samples') }},

grid as {{ of_this_build('stg_grid') }},

labelled as {{ of_this_build('int_predictions_labelled', where="answer_status != 'error'") }},

asks as (
    select
        variants_asked.audit_run_id,
        variants_asked.model_id,
        variants_asked.task_id,
        variants_asked.strategy,
        variants_asked.prompt_variant_id,
        variants.repetition,
        grid.sample_ids
    from variants_asked
    inner join variants using (audit_run_id, prompt_variant_id)
    left join grid using (audit_run_id, prompt_variant_id, repetition)
),

asked_of_all as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        count(*) as n_planned
    from asks
    where sample_ids is null
    group by all
),

planned_cells as (
    select
        asked_of_all.audit_run_id,
        asked_of_all.model_id,
        asked_of_all.task_id,
        asked_of_all.strategy,
        asked_of_all.prompt_variant_id,
        samples.sample_id,
        asked_of_all.n_planned
    from asked_of_all
    inner join samples using (audit_run_id, task_id)
    union all
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        unnest(sample_ids) as sample_id,
        1 as n_planned
    from asks
    where sample_ids is not null
),

planned as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        sum(n_planned)::bigint as n_planned,
        count(distinct prompt_variant_id) as n_wordings_planned
    from planned_cells
    group by all
),

landed as (
    select
        labelled.audit_run_id,
        labelled.model_id,
        labelled.task_id,
        labelled.strategy,
        labelled.sample_id,
        count(*) as n_landed,
        count(distinct labelled.prompt_variant_id) as n_wordings_landed
    from labelled
    group by all
),

final as (
    select
        planned.*,
        samples.sample_index,
        coalesce(landed.n_landed, 0) as n_landed,
        coalesce(landed.n_landed, 0) >= 0.9 * planned.n_planned as is_counted,
        coalesce(landed.n_wordings_landed, 0) = planned.n_wordings_planned as has_all_wordings
    from planned
    inner join samples using (audit_run_id, task_id, sample_id)
    left join landed using (audit_run_id, model_id, task_id, strategy, sample_id)
)

select * from final
