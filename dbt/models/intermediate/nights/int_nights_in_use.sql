-- One row per night, model, task, strategy and earlier night that tonight is held against, or that may become one of those; and
-- tonight itself, of age 0. Nights that wait are in windows with tonight, and nothing is held against them.
with tonight as {{ all_of('int_nights_before') }},

nights as (
    {{ night_states_before() }}
),

used as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        plan,
        night as tonight,
        run_index,
        unnest(list_distinct(list_concat(
            list_concat(memory.normal, if(pinned_night is null, [], [pinned_night])),
            list_concat(memory.good, list_slice(memory.alarm_nights, -{{ most_normal_nights() }}, -1)),
            list_filter(memory.waiting, lambda each: night - each < {{ longest_window() }})
        ))) as night,
        pinned_night,
        memory
    from tonight
),

final as (
    select
        used.audit_run_id,
        used.model_id,
        used.task_id,
        used.strategy,
        nights.audit_run_id as other_run_id,
        (used.tonight - used.night)::integer as age,
        list_contains(used.memory.normal, used.night) as is_normal,
        coalesce(used.night = used.pinned_night, false) as is_pinned,
        if(used.pinned_night is null, list_contains(used.memory.normal, used.night), used.night = used.pinned_night)
            as is_reference,
        (
            list_contains(used.memory.normal, used.night)
            or list_contains(used.memory.good, used.night)
            or coalesce(list_contains(used.memory.waiting, used.night), false)
            or coalesce(used.night = used.pinned_night, false)
        ) as is_tested
    from used
    inner join nights using (audit_id, model_id, task_id, strategy, plan, night)
    -- a later run that was derived before may still be counted as another night
    where nights.run_index < used.run_index
    union all
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        audit_run_id as other_run_id,
        0 as age,
        false as is_normal,
        false as is_pinned,
        false as is_reference,
        true as is_tested
    from tonight
)

select * from final
