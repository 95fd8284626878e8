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
    select * from measured
    union all by name
    select * from costs
    union all by name
    select * from apart
)

select * from final
