-- One row per night, model, task, strategy and measure: its test, adjusted for all that is tested tonight.
-- Benjamini and Hochberg over all measures of the night, whatever the model and task: one budget of false alarms. What is
-- the same on all nights in every sample could not differ tonight, and is none of the tests that share the budget (Tarone, 1990).
{{ config(materialized='view') }}
with tested as {{ all_of('int_streams_tested') }},

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

final as (
    select
        tested.*,
        if(tested.varies, adjusted.q_value, tested.test.p_value) as q_value,
        adjusted.n_tests
    from tested
    left join adjusted using (audit_run_id, model_id, task_id, strategy, measure)
)

select * from final
