-- One row per alarm of the nights: what it was, since when, and how it ended.
{{ config(materialized='view') }}
with runs as (
    select
        audit_run_id,
        run_index
    from {{ ref('stg_audit_runs').include(database=false) }}
),

states as (
    select
        *,
        memory.since as since,
        lead(audit_run_id) over nights as next_run_id,
        lead(state) over nights as next_state,
        lead(plan) over nights as next_plan,
        lead(run_index) over nights as next_run_index
    from {{ ref('rpt_night_states').include(database=false) }}
    inner join runs using (audit_run_id)
    window nights as (partition by audit_id, model_id, task_id, strategy order by run_index)
),

newest as (
    select
        audit_id,
        arg_max(audit_run_id, run_index) as newest_run_id
    from states
    group by all
),

acceptances as {{ all_of('stg_acceptances') }},

alarmed as (
    select
        audit_id,
        model_id,
        task_id,
        strategy,
        plan,
        since,
        arg_min(audit_run_id, night) as audit_run_id,
        arg_max(audit_run_id, night) as last_run_id,
        count(*) as n_nights,
        arg_max(memory.alarm, night) as alarm,
        arg_max_null(next_run_id, night) as next_run_id,
        arg_max_null(next_state, night) as next_state,
        arg_max_null(next_plan, night) as next_plan,
        max(run_index) as last_run_index,
        arg_max_null(next_run_index, night) as next_run_index
    from states
    where since is not null
    group by all
),

ended as (
    select
        alarmed.audit_id,
        alarmed.model_id,
        alarmed.task_id,
        alarmed.strategy,
        alarmed.plan,
        alarmed.since,
        arg_max(acceptances.is_false, (acceptances.after_run_index, acceptances.accepted_at)) as is_false,
        arg_max(acceptances.reason, (acceptances.after_run_index, acceptances.accepted_at)) as reason
    from alarmed
    inner join acceptances
        on
            alarmed.audit_id = acceptances.audit_id
            and alarmed.model_id = coalesce(acceptances.model_id, alarmed.model_id)
            and alarmed.task_id = coalesce(acceptances.task_id, alarmed.task_id)
            and alarmed.strategy = coalesce(acceptances.strategy, alarmed.strategy)
            and alarmed.last_run_index <= acceptances.after_run_index
            and coalesce(alarmed.next_run_index > acceptances.after_run_index, true)
    group by all
),

final as (
    select
        alarmed.audit_run_id,
        alarmed.audit_id,
        alarmed.model_id,
        alarmed.task_id,
        alarmed.strategy,
        alarmed.plan,
        case
            when list_contains(list_transform(alarmed.alarm, lambda stream: stream.kind), 'regressed') then 'regressed'
            when list_contains(list_transform(alarmed.alarm, lambda stream: stream.kind), 'changed') then 'changed'
            else 'improved'
        end as kind,
        list_transform(alarmed.alarm, lambda stream: stream.measure) as measures,
        firsts.audit_run_id as since_run_id,
        alarmed.last_run_id,
        alarmed.n_nights,
        case
            when ended.is_false then 'false'
            when ended.is_false is not null then 'accepted'
            when alarmed.next_run_id is null and alarmed.last_run_id != newest.newest_run_id then 'no_longer_asked'
            when alarmed.next_run_id is null then null
            when alarmed.next_plan != alarmed.plan then 'new_plan'
            when alarmed.next_state = 'recovered' then 'recovered'
            else 'accepted'
        end as ended_by,
        if(ended_by is null, null, coalesce(alarmed.next_run_id, newest.newest_run_id)) as ended_run_id,
        ended.reason,
        {{ measure_version() }}
    from alarmed
    inner join newest using (audit_id)
    left join ended using (audit_id, model_id, task_id, strategy, plan, since)
    left join states as firsts
        on
            alarmed.audit_id = firsts.audit_id
            and alarmed.model_id = firsts.model_id
            and alarmed.task_id = firsts.task_id
            and alarmed.strategy = firsts.strategy
            and alarmed.plan = firsts.plan
            and alarmed.since = firsts.night
)

select * from final
