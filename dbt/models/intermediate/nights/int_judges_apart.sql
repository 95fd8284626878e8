-- One row per night, task, judge and earlier night on which the judge ruled otherwise than it does by now: what it scored then
-- says nothing of a model. Another judge's card, a night of an alarm, and what came before an alarm that somebody accepted.
with nights as (
    select
        *,
        -- nights that wait are those of the judge as it was, until it is known otherwise
        list_concat(memory.normal, memory.waiting) as as_ever
    from {{ ref('int_nights_before') }}
    where {{ is_judge() }}
),

before as (
    {{ night_states_before() }}
),

final as (
    select
        nights.audit_run_id,
        before.audit_run_id as other_run_id,
        nights.task_id,
        nights.model_id as scoring_method
    from nights
    inner join before using (audit_id, model_id, task_id, strategy)
    where
        before.run_index < nights.run_index
        and (
            before.plan != nights.plan
            or not coalesce(
                list_contains(nights.as_ever, before.night)
                -- or it was normal, and is older than the nights that are looked at
                or (
                    len(nights.as_ever) >= {{ most_normal_nights() }}
                    and before.night < list_min(nights.as_ever)
                ),
                false
            )
        )
)

select * from final
