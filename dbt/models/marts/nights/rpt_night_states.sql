-- One row per night, model, task and strategy: whether it is as on normal nights, and what it takes to know so tomorrow.
with nights as (
    select * from {{ ref('int_nights_before') }}
),

-- what a judge scored that rules otherwise tonight says nothing of the model
streams as (
    select
        adjusted.* exclude (q_value),
        if(judges.scoring_method is null, adjusted.q_value, null) as q_value
    from {{ ref('int_streams_adjusted') }} as adjusted
    left join {{ ref('int_judges_moved') }} as judges
        on
            adjusted.audit_run_id = judges.audit_run_id
            and adjusted.task_id = judges.task_id
            and {{ is_scored_by('adjusted.measure', 'judges.scoring_method') }}
),

tested as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        max(test.n_samples) as n_samples_shared,
        list({
            'measure': measure,
            'test': test,
            'q_value': q_value,
            'worse': worse::bigint,
            'raises': measure != 'consistency'
        } order by measure) as streams
    from streams
    group by all
),

judged as (
    select
        nights.*,
        coalesce(tested.streams, []) as streams,
        tested.n_samples_shared,
        nights.n_samples_counted >= 0.8 * nights.n_samples
        and (
            nights.memory is null
            or len(nights.memory.normal) = 0
            or coalesce(tested.n_samples_shared, 0) >= 0.5 * nights.n_samples_counted
        ) as is_known
    from nights
    left join tested using (audit_run_id, model_id, task_id, strategy)
),

moved as (
    select
        *,
        if(is_known, next_night_state(memory, night, streams, min_effect), memory) as memory_after
    from judged
),

final as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        started_at,
        plan,
        night,
        if(is_known, memory_after.state, 'cannot_tell') as state,
        coalesce(len(memory.normal), 0)::integer as n_nights_normal,
        n_samples,
        n_samples_counted,
        coalesce(n_samples_shared, 0)::integer as n_samples_shared,
        min_effect,
        memory_after as memory,
        {{ measure_version() }}
    from moved
)

select * from final
