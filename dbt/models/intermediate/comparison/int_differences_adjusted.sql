-- One row per comparison, model, task, strategy and measure: its p-value adjusted for all that is tested between the two runs.
-- Benjamini and Hochberg; label_churn, which has a verdict of its own and would lend its certainty to the measures, is a
-- family of its own.
{{ config(materialized='view') }}
with compared as (
    select * from {{ ref('int_measures_compared') }}
),

ranked as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        p_value,
        measure = 'label_churn' as is_churn,
        count(*) over (partition by comparison_id, measure = 'label_churn') as n_tests,
        row_number() over (
            partition by comparison_id, measure = 'label_churn'
            order by p_value, model_id, task_id, strategy, measure
        ) as place
    from compared
    where p_value is not null
),

adjusted as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        measure,
        n_tests,
        least(
            1,
            min(p_value * n_tests / place) over (
                partition by comparison_id, is_churn
                order by place desc
                rows between unbounded preceding and current row
            )
        ) as q_value
    from ranked
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
