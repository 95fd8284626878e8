-- One row per night, task and judge that rules otherwise than on normal nights: its alarm stands tonight, or tonight is one odd
-- night of two or three. What it scores tonight is not held against other nights.
with nights as {{ all_of('int_nights_before', where=is_judge()) }},

tested as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        list({
            'measure': measure,
            'test': test,
            'q_value': q_value,
            'worse': worse::bigint,
            'least_effect': null::double,
            'raises': true,
            'is_rate': true,
            'is_of_other_judge': false,
            'p_value_in_alarm': p_value_in_alarm
        } order by measure) as streams
    from {{ ref('int_streams_adjusted') }}
    group by all
),

moved as (
    select
        nights.audit_run_id,
        nights.task_id,
        nights.model_id as scoring_method,
        try_next_night_state(
            {{ group_keys('nights', ['audit_run_id', 'model_id', 'task_id'], is_row=true) }},
            nights.memory, nights.night, coalesce(tested.streams, []), nights.min_effect, nights.pinned_night is not null
        ) as after
    from nights
    left join tested using (audit_run_id, model_id, task_id, strategy)
    where nights.n_samples_counted >= 0.8 * nights.n_samples
),

final as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        after.state as state
    from moved
    where after.since is not null or after.state = 'unconfirmed'
)

select * from final
