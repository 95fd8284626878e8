-- One row per night, model, task and strategy: its place among the nights of one plan, and what the night before left.
with groups as (
    select * exclude (measure_version) from {{ ref('dim_groups') }}
    where {{ in_this_build() }}
),

nights as (
    {{ night_states_before() }}
),

acceptances as (
    select * from {{ ref('stg_acceptances') }}
),

before as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        nights.started_at,
        nights.night,
        nights.memory
    from groups
    inner join nights
        on
            groups.audit_id = nights.audit_id
            and groups.model_id = nights.model_id
            and groups.task_id = nights.task_id
            and groups.strategy = nights.strategy
            and groups.plan = nights.plan
            and groups.started_at > nights.started_at
    qualify
        row_number() over (
            partition by groups.audit_run_id, groups.model_id, groups.task_id, groups.strategy
            order by nights.started_at desc
        ) = 1
),

-- the last word of a person between the two nights
ended as (
    select
        before.audit_run_id,
        before.model_id,
        before.task_id,
        before.strategy,
        arg_max(acceptances.is_false, acceptances.accepted_at) as is_false
    from before
    inner join groups using (audit_run_id, model_id, task_id, strategy)
    inner join acceptances
        on
            groups.audit_id = acceptances.audit_id
            and groups.model_id = coalesce(acceptances.model_id, groups.model_id)
            and groups.task_id = coalesce(acceptances.task_id, groups.task_id)
            and groups.strategy = coalesce(acceptances.strategy, groups.strategy)
            and before.started_at <= acceptances.accepted_at
            and groups.started_at > acceptances.accepted_at
    group by all
),

final as (
    select
        groups.*,
        coalesce(before.night, 0) + 1 as night,
        if(ended.is_false is null, before.memory, accepted_state(before.memory, ended.is_false)) as memory
    from groups
    left join before using (audit_run_id, model_id, task_id, strategy)
    left join ended using (audit_run_id, model_id, task_id, strategy)
)

select * from final
