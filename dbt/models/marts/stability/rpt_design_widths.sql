-- One row per run, model, task, strategy, measure and design: the run's own, and the least ones for wider and narrower intervals.
with runs as {{ of_this_build('stg_audit_runs') }},

labels as {{ of_this_build('stg_task_labels') }},

designs as {{ of_this_build('dim_designs') }},

cells as {{ of_this_build('int_cells_averaged') }},

wordings as {{ of_this_build('int_wordings_shared') }},

totals as {{ of_this_build('rpt_answer_totals') }},

cards as (
    select
        audit_run_id,
        (json_extract(card, '$.audits')::map (varchar, json))[audit_id] as card
    from runs
),

classes as {{ classes_of('labels') }},

numbered as {{ variants_numbered('cells') }},

variants as (
    select
        cells.*,
        numbered.variant
    from cells
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
),

asked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(distinct variant) as n_wordings,
        mode(n_asks order by n_asks) as n_repetitions
    from variants
    group by all
),

-- as of the type that the functions take
groups as (
    select
        asked.audit_run_id,
        asked.model_id,
        asked.task_id,
        asked.strategy,
        {
            'n_wordings': asked.n_wordings,
            'n_repetitions': asked.n_repetitions,
            'n_requests': designs.n_planned,
            'is_incomplete': designs.wordings_per_sample is not null,
            'n_groups': count(*) over (partition by asked.audit_run_id),
            'min_effect': coalesce((cards.card ->> '$.min_effect')::double, {{ smallest_effect() }}::double)
        } as run
    from asked
    inner join designs using (audit_run_id, model_id, task_id, strategy)
    inner join cards using (audit_run_id)
),

of_accuracy as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        'micro_f1' as measure,
        try_width_curve(
            {{ told_as('groups') }},
            list(variants.sample_index),
            list(variants.variant),
            list(variants.family_index),
            list(variants.accuracy),
            list(variants.n_asks::integer),
            any_value(groups.run)
        ) as points
    from groups
    inner join variants using (audit_run_id, model_id, task_id, strategy)
    where variants.accuracy is not null
    group by all
),

of_sensitivity as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        'sensitivity' as measure,
        try_width_curve_of_sensitivity(
            {{ told_as('groups') }},
            list(wordings.sample_index),
            list(wordings.wording_index),
            list(wordings.family_index),
            list(wordings.label_index),
            list(wordings.p_wording),
            any_value(classes.n_classes),
            any_value(groups.run)
        ) as points
    from groups
    inner join wordings using (audit_run_id, model_id, task_id, strategy)
    inner join classes using (audit_run_id, task_id)
    where not groups.run.is_incomplete
    group by all
),

listed as (
    select * from of_accuracy
    union all
    select * from of_sensitivity
),

placed as (
    select
        * exclude (points),
        unnest(points) as point,
        generate_subscripts(points, 1) as place
    from listed
),

final as (
    select
        placed.audit_run_id,
        placed.model_id,
        placed.task_id,
        placed.strategy,
        placed.measure,
        placed.place::integer as place,
        placed.point.n_samples as n_samples,
        placed.point.n_wordings as n_wordings,
        if(placed.point.is_this_run, designs.wordings_per_sample, null) as wordings_per_sample,
        placed.point.n_repetitions as n_repetitions,
        placed.point.n_requests as n_requests,
        placed.point.width as width,
        placed.point.least_width as least_width,
        placed.point.detectable_difference as detectable_difference,
        placed.point.n_requests * totals.cost_usd / nullif(totals.n_priced, 0) as cost_usd,
        placed.point.is_this_run as is_this_run,
        {{ measure_version() }}
    from placed
    inner join designs using (audit_run_id, model_id, task_id, strategy)
    left join totals using (audit_run_id, model_id, task_id, strategy)
)

select * from final
