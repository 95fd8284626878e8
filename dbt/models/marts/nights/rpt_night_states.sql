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
        nights.n_samples_counted >= 0.8 * nights.n_samples as is_answered,
        nights.memory.since is not null as is_in_alarm,
        -- of other samples than those before: something to hold later nights against, and nothing that is known of tonight
        coalesce(len(nights.memory.normal), 0) > 0
        and coalesce(tested.n_samples_shared, 0) < 0.5 * nights.n_samples_counted as is_of_others,
        nights.is_rotating and coalesce(tested.n_samples_shared, 0) = 0 as is_of_next_panel
    from nights
    left join tested using (audit_run_id, model_id, task_id, strategy)
),

moved as (
    select
        *,
        case
            when not is_answered or (is_of_others and is_in_alarm) then memory
            else next_night_state(
                memory, night, if(is_of_others, [], streams), min_effect, pinned_night is not null
            )
        end as memory_after
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
        case
            when is_answered and not is_of_others then memory_after.state
            when is_answered and is_of_next_panel and not is_in_alarm then 'first_night'
            else 'cannot_tell'
        end as state,
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
