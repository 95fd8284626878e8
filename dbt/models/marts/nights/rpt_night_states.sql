-- One row per night, model, task and strategy: whether it is as on normal nights, and what it takes to know so tomorrow.
{{ config(pre_hook='{{ widen_structs() }}') }}
with nights as {{ all_of('int_nights_before') }},

streams as (
    select
        adjusted.*,
        nights.min_effect,
        judges.scoring_method is not null as is_of_other_judge
    from {{ ref('int_streams_adjusted') }} as adjusted
    inner join nights using (audit_run_id, model_id, task_id, strategy)
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
        max(test.n_samples) as n_samples_tested,
        count(n_tests) as n_tests,
        list({
            'measure': measure,
            'test': test,
            'q_value': q_value,
            'worse': worse::bigint,
            'least_effect': {{ least_effect('measure', 'min_effect') }},
            'raises': measure != 'consistency',
            'is_rate': measure = 'lost_samples' or {{ is_of_class('measure') }} or {{ is_rate('measure') }},
            'is_of_other_judge': is_of_other_judge,
            'p_value_in_alarm': p_value_in_alarm
        } order by measure) as streams
    from streams
    group by all
),

shared as (
    select
        used.audit_run_id,
        used.model_id,
        used.task_id,
        used.strategy,
        count(distinct kept.sample_id) as n_samples_shared
    from {{ ref('int_nights_in_use') }} as used
    inner join {{ ref('int_samples_kept') }} as kept using (audit_run_id, other_run_id, task_id)
    where
        used.is_reference and kept.is_asked_tonight
        and kept.is_of_judge = {{ is_judge('used.model_id', 'used.strategy') }}
    group by all
),

judged as (
    select
        nights.*,
        coalesce(tested.streams, []) as streams,
        coalesce(tested.n_tests, 0) as n_tests,
        coalesce(shared.n_samples_shared, 0) as n_samples_shared,
        nights.n_samples_counted >= 0.8 * nights.n_samples as is_answered,
        nights.memory.since is not null as is_in_alarm,
        -- of other samples than those before, or of too few: something to hold later nights against, and nothing known of tonight
        coalesce(len(nights.memory.normal), 0) > 0
        and (
            coalesce(shared.n_samples_shared, 0) < 0.5 * nights.n_samples_counted
            or coalesce(tested.n_samples_tested, 0) = 0
        ) as is_of_others,
        nights.is_rotating and coalesce(shared.n_samples_shared, 0) = 0 as is_of_next_panel
    from nights
    left join tested using (audit_run_id, model_id, task_id, strategy)
    left join shared using (audit_run_id, model_id, task_id, strategy)
),

moved as (
    select
        *,
        case
            when not is_answered or (is_of_others and is_in_alarm) then memory
            -- where the state cannot be told it stays
            else coalesce(
                try_next_night_state(
                    {{ group_keys(is_row=true) }},
                    memory, night, if(is_of_others, [], streams), min_effect, pinned_night is not null
                ),
                memory
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
            when is_answered and not is_of_others and memory_after is not null then memory_after.state
            when is_answered and is_of_next_panel and not is_in_alarm then 'first_night'
            else 'cannot_tell'
        end as state,
        coalesce(len(memory.normal), 0)::integer as n_nights_normal,
        n_samples,
        n_samples_counted,
        n_samples_shared::integer as n_samples_shared,
        n_tests::integer as n_tests,
        min_effect,
        memory_after as memory,
        {{ measure_version() }}
    from moved
)

select * from final
