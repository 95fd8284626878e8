-- One row per comparison, model, task, strategy and night of one plan: how many nights ago it was, and whether it is one of the
-- normal nights that say how far two nights of the group differ. As they stood on the night of the run that was asked later, or
-- of the other one where that has fewer than three, and without that night.
with sides as {{ all_of('int_sides_paired') }},

states as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        runs.run_index,
        plan,
        night,
        list_slice(list_filter(memory.normal, lambda each: each != night), -{{ most_normal_nights() }}, -1) as normal
    from {{ ref('rpt_night_states') }}
    inner join {{ ref('stg_audit_runs') }} as runs using (audit_run_id, audit_id)
),

chosen as (
    select
        sides.comparison_id,
        sides.model_id,
        sides.own_model_id,
        sides.strategy,
        sides.own_strategy,
        states.* exclude (model_id, strategy)
    from sides
    inner join states
        on
            sides.audit_run_id = states.audit_run_id
            and sides.own_model_id = states.model_id
            and sides.task_id = states.task_id
            and sides.own_strategy = states.strategy
    qualify
        row_number() over (
            partition by sides.comparison_id, sides.model_id, sides.task_id, sides.strategy
            order by len(states.normal) >= 3 desc, states.run_index desc, sides.side desc
        ) = 1
),

final as (
    select
        chosen.comparison_id,
        chosen.model_id,
        chosen.task_id,
        chosen.strategy,
        chosen.own_model_id,
        chosen.own_strategy,
        nights.audit_run_id as other_run_id,
        (chosen.night - nights.night)::integer as age,
        coalesce(list_contains(chosen.normal, nights.night), false) as is_normal
    from chosen
    inner join states as nights
        on
            chosen.audit_id = nights.audit_id
            and chosen.own_model_id = nights.model_id
            and chosen.task_id = nights.task_id
            and chosen.own_strategy = nights.strategy
            and chosen.plan = nights.plan
)

select * from final
