-- One row per night, model, task and strategy: its place among the nights of one plan, and what the night before left.
with runs as {{ of_this_build('stg_audit_runs') }},

groups as (
    select
        found.* exclude (measure_version),
        runs.run_index
    from {{ ref('dim_groups') }} as found
    inner join runs using (audit_run_id)
    where {{ in_this_build('found.audit_run_id') }}
),

nights as (
    {{ night_states_before() }}
),

acceptances as {{ all_of('stg_acceptances') }},

baselines as {{ all_of('stg_baselines') }},

before as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        nights.run_index,
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
            and groups.run_index > nights.run_index
    qualify
        row_number() over (
            partition by groups.audit_run_id, groups.model_id, groups.task_id, groups.strategy
            order by nights.run_index desc
        ) = 1
),

-- what a person said last before tonight: that an alarm's nights are normal
accepted as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        max(acceptances.after_run_index) as after_run_index,
        max((acceptances.after_run_index, acceptances.accepted_at)) as accepted_at,
        arg_max(acceptances.is_false, (acceptances.after_run_index, acceptances.accepted_at)) as is_false
    from groups
    inner join acceptances
        on
            groups.audit_id = acceptances.audit_id
            and groups.model_id = coalesce(acceptances.model_id, groups.model_id)
            and groups.task_id = coalesce(acceptances.task_id, groups.task_id)
            and groups.strategy = coalesce(acceptances.strategy, groups.strategy)
            and groups.run_index > acceptances.after_run_index
    group by all
),

samples as (
    select
        audit_run_id,
        task_id,
        sample_id
    from {{ ref('dim_samples') }}
),

tasks as (
    select distinct
        audit_run_id,
        audit_id,
        task_id
    from groups
),

shared as (
    select
        tasks.audit_run_id,
        tasks.task_id,
        baselines.audit_run_id as pinned_run_id,
        2 * count(other.sample_id) >= count(*) as is_of_same_samples
    from tasks
    inner join baselines using (audit_id)
    inner join samples as own
        on tasks.audit_run_id = own.audit_run_id and tasks.task_id = own.task_id
    left join samples as other
        on baselines.audit_run_id = other.audit_run_id and own.task_id = other.task_id and own.sample_id = other.sample_id
    group by all
),

-- or that a night is what all later ones are held against that ask its samples
pinned as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        max((baselines.after_run_index, baselines.pinned_at)) as pinned_at,
        arg_max(nights.night, (baselines.after_run_index, baselines.pinned_at)) as night
    from groups
    inner join baselines
        on groups.audit_id = baselines.audit_id and groups.run_index > baselines.after_run_index
    inner join shared
        on
            groups.audit_run_id = shared.audit_run_id
            and groups.task_id = shared.task_id
            and baselines.audit_run_id = shared.pinned_run_id
            and shared.is_of_same_samples
    inner join nights
        on
            baselines.audit_run_id = nights.audit_run_id
            and groups.model_id = nights.model_id
            and groups.task_id = nights.task_id
            and groups.strategy = nights.strategy
            and groups.plan = nights.plan
    group by all
),

final as (
    select
        groups.*,
        coalesce(before.night, 0) + 1 as night,
        if(accepted.accepted_at is null or pinned.pinned_at > accepted.accepted_at, pinned.night, null) as pinned_night,
        if(
            accepted.after_run_index >= before.run_index,
            accepted_state(before.memory, accepted.is_false),
            before.memory
        ) as memory
    from groups
    left join before using (audit_run_id, model_id, task_id, strategy)
    left join accepted using (audit_run_id, model_id, task_id, strategy)
    left join pinned using (audit_run_id, model_id, task_id, strategy)
)

select * from final
