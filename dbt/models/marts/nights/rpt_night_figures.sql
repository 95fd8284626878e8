-- One row per night, model, task, strategy and measure: how far it lies from normal nights, and whether by more than chance.
-- Benjamini and Hochberg over all measures of the night, whatever the model and task: one budget of false alarms.
with tested as (
    select * from {{ ref('int_streams_tested') }}
),

ranked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        test.p_value as p_value,
        count(*) over (partition by audit_run_id) as n_tests,
        row_number() over (
            partition by audit_run_id
            order by test.p_value, model_id, task_id, strategy, measure
        ) as place
    from tested
    where test.p_value is not null
),

adjusted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        n_tests,
        least(
            1,
            min(p_value * n_tests / place) over (
                partition by audit_run_id
                order by place desc
                rows between unbounded preceding and current row
            )
        ) as q_value
    from ranked
),

final as (
    select
        tested.audit_run_id,
        tested.audit_id,
        tested.model_id,
        tested.task_id,
        tested.strategy,
        tested.measure,
        tested.tonight,
        tested.usual,
        tested.test.difference as difference,
        tested.test.low as difference_low,
        tested.test.high as difference_high,
        tested.test.span as n_nights_told,
        tested.test.n_nights as n_nights_normal,
        tested.test.n_samples as n_samples,
        tested.test.standard_error as standard_error,
        tested.test.spread_factor as spread_factor,
        tested.test.p_value as p_value,
        adjusted.q_value,
        adjusted.n_tests,
        tested.test.difference_tonight as difference_tonight,
        tested.test.p_value_tonight as p_value_tonight,
        tested.test.difference_two as difference_two,
        tested.test.error_two as error_two,
        tested.worse,
        {{ measure_version() }}
    from tested
    left join adjusted using (audit_run_id, model_id, task_id, strategy, measure)
)

select * from final
