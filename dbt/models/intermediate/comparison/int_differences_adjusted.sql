-- One row per comparison, model, task, strategy and measure: its p-value adjusted for all that is tested between the two runs.
-- Benjamini and Hochberg; label_churn, which has a verdict of its own and would lend its certainty to the measures, is a
-- family of its own.
{{ config(materialized='view') }}
with compared as {{ all_of('int_measures_compared') }},

tested as (
    select
        *,
        measure = 'label_churn' as is_churn
    from compared
    where p_value is not null
),

adjusted as (
    {{ benjamini_hochberg('tested', family='comparison_id, is_churn') }}
),

final as (
    select
        compared.*,
        adjusted.n_tests,
        adjusted.q_value
    from compared
    left join adjusted using (comparison_id, model_id, task_id, strategy, measure)
)

select * from final
