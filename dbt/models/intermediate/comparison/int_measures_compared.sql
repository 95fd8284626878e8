-- One row per comparison, model, task, strategy and measure: both figures, their difference and what chance would give.
with paired as (
    select * from {{ ref('int_groups_paired') }}
    where reason is null
),

answers as (
    select * from {{ ref('int_answers_paired') }}
    where side < 2
),

scores as (
    select * from {{ ref('int_scores_paired') }}
    where side < 2
),

costs as (
    select * from {{ ref('int_costs_compared') }}
),

apart as (
    select * from {{ ref('int_groups_apart') }}
),

{{ compared_measures() }},

final as (
    select measured.*
    from measured
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where
        not paired.has_incomplete_grid
        or split_part(measured.measure, ':', 1) not in ('sensitivity', 'consistency', 'accuracy_std')
    union all by name
    select * from costs
    union all by name
    select * from apart
)

select * from final
