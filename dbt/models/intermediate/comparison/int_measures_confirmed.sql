-- One row per comparison, model, task, strategy and measure of the groups in which something differs by more than chance: the
-- same comparison with the confirming night in the place of the side for which it stands in. The p-value of label_churn is that
-- of the other side differing from these two more than they differ from each other.
with compared_groups as (
    select * from {{ ref('int_groups_paired') }}
    where reason is null and confirming_run_id is not null
),

measures as (
    select * from {{ ref('int_measures_compared') }}
),

paired_answers as (
    select * from {{ ref('int_answers_paired') }}
),

paired_scores as (
    select * from {{ ref('int_scores_paired') }}
),

-- a quiet night pays nothing: without such a difference no verdict is left to confirm
differing as (
    select
        measures.comparison_id,
        measures.model_id,
        measures.task_id,
        measures.strategy,
        bool_or(measures.measure = 'label_churn') as has_churned
    from measures
    inner join compared_groups using (comparison_id, model_id, task_id, strategy)
    where
        measures.p_value <= {{ significance_level() }}
        and abs(measures.difference) >= compared_groups.min_effect
    group by all
),

paired as (
    select *
    from compared_groups
    inner join differing using (comparison_id, model_id, task_id, strategy)
),

answers as (
    select paired_answers.* replace (if(paired_answers.side = 2, paired.confirmed_side, paired_answers.side) as side)
    from paired_answers
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where paired_answers.side != paired.confirmed_side
),

scores as (
    select paired_scores.* replace (if(paired_scores.side = 2, paired.confirmed_side, paired_scores.side) as side)
    from paired_scores
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where paired_scores.side != paired.confirmed_side
),

{{ compared_measures() }},

churned as (
    select
        paired_answers.comparison_id,
        paired_answers.model_id,
        paired_answers.task_id,
        paired_answers.strategy,
        confirm_churn(
            list(paired_answers.side),
            list(paired_answers.sample_index),
            list(paired_answers.variant),
            list(paired_answers.repetition),
            list(paired_answers.label_index),
            any_value(paired.labels),
            any_value(1 - paired.confirmed_side)
        ) as p_value
    from paired_answers
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where paired.has_churned
    group by all
),

confirmed as (
    select
        measured.comparison_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        measured.measure,
        measured.difference,
        if(measured.measure = 'label_churn', churned.p_value, measured.p_value) as p_value
    from measured
    left join churned using (comparison_id, model_id, task_id, strategy)
),

final as (
    select * from confirmed
    where p_value is not null
)

select * from final
