-- One row per night, model, task, strategy and measure: its test, adjusted for all that is tested.
-- Benjamini and Hochberg over all measures of the night, whatever the model and task, times all tests of the week over these:
-- other audits share one budget of false alarms with it. What is the same on all nights in every sample could not differ tonight,
-- and is none of the tests that share the budget (Tarone, 1990).
with tested as {{ all_of('int_streams_tested') }},

nights as {{ all_of('int_nights_before') }},

hypotheses as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        test.p_value as p_value
    from tested
    where test.p_value is not null and varies
),

adjusted as (
    {{ benjamini_hochberg('hypotheses', family='audit_run_id') }}
),

tonight as (
    select distinct
        audit_run_id,
        audit_id,
        started_at,
        run_index
    from nights
),

earlier as (
    {{ night_states_before() }}
),

runs as {{ all_of('stg_audit_runs') }},

counted as (
    select
        earlier.audit_id,
        earlier.audit_run_id,
        runs.run_index,
        runs.started_at,
        runs.finished_at,
        sum(earlier.n_tests) as n_tests
    from earlier
    inner join runs using (audit_run_id)
    group by all
),

-- the newest night of each other audit that was over when tonight began: one that is derived again finds the same. One that
-- landed before and began later by the clock is of a clock that was ahead: how old it is nobody knows, and it counts as new
others as (
    select
        tonight.audit_run_id,
        counted.audit_id,
        arg_max(counted.n_tests, counted.run_index) as n_tests
    from tonight
    inner join counted
        on
            tonight.audit_id != counted.audit_id
            and tonight.run_index > counted.run_index
            and (
                tonight.started_at > counted.finished_at
                or counted.started_at > tonight.started_at + interval 5 minute
            )
            and tonight.started_at <= counted.finished_at + interval 7 day
    group by all
),

of_others as (
    select
        audit_run_id,
        sum(n_tests) as n_tests
    from others
    group by all
),

final as (
    select
        tested.*,
        if(
            adjusted.q_value is not null,
            least(1, adjusted.q_value * (adjusted.n_tests + coalesce(of_others.n_tests, 0)) / adjusted.n_tests),
            tested.test.p_value
        ) as q_value,
        (adjusted.n_tests + coalesce(of_others.n_tests, 0))::bigint as n_tests
    from tested
    left join adjusted using (audit_run_id, model_id, task_id, strategy, measure)
    left join of_others using (audit_run_id)
)

select * from final
