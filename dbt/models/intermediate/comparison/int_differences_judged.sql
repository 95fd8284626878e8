-- One row per comparison, model, task, strategy and measure: the verdict on its difference, and whether the same cells are
-- answered otherwise than chance would have it.
{{ config(materialized='view') }}
with adjusted as (
    select * from {{ ref('int_differences_adjusted') }}
),

confirmed as (
    select * from {{ ref('int_measures_confirmed') }}
),

paired as (
    select * from {{ ref('int_groups_paired') }}
),

differences as (
    select
        adjusted.*,
        paired.base_run_id,
        paired.candidate_run_id,
        paired.audit_id,
        paired.base_model_id,
        paired.confirming_run_id,
        confirmed.difference as confirming_difference,
        confirmed.p_value as confirming_p_value,
        paired.min_effect,
        case adjusted.measure
            when 'cost_usd' then paired.max_cost_increase
            when 'latency_ms' then paired.max_latency_increase
        end as max_increase,
        -- the side on which more is worse
        case
            when
                split_part(adjusted.measure, ':', 1)
                in ('sensitivity', 'invalid_rate', 'accuracy_std', 'cost_usd', 'latency_ms')
                then adjusted.difference
            else -adjusted.difference
        end as worse_by,
        if(
            adjusted.measure = 'label_churn' and paired.is_of_nights and confirmed.p_value is null,
            {{ significance_level_of_nights() }},
            {{ significance_level() }}
        ) as level
    from adjusted
    inner join paired using (comparison_id, model_id, task_id, strategy)
    left join confirmed using (comparison_id, model_id, task_id, strategy, measure)
),

-- where there is a confirming night it has to say the same, in the same direction
held as (
    select
        *,
        q_value <= level and abs(difference) >= min_effect as is_beyond_chance,
        -- the p-value of label_churn is of one side
        is_beyond_chance and not coalesce(
            confirming_p_value * if(measure = 'label_churn', 2, 1) <= {{ significance_level_of_nights() }}
            and confirming_difference * sign(difference) >= min_effect,
            true
        ) as is_unconfirmed,
        is_beyond_chance and not is_unconfirmed as holds
    from differences
),

churned as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        base as churn_within_a_run,
        case
            when q_value is null then null
            when holds then 'drift'
            when is_unconfirmed then 'unconfirmed'
            else 'noise'
        end as churn_state
    from held
    where measure = 'label_churn'
),

final as (
    select
        held.comparison_id,
        held.base_run_id,
        held.candidate_run_id,
        held.audit_id,
        held.base_model_id,
        held.model_id,
        held.task_id,
        held.strategy,
        held.measure,
        held.base,
        held.candidate,
        held.difference,
        held.difference_low,
        held.difference_high,
        held.p_value,
        held.p_value_samples,
        held.p_value_variants,
        held.q_value,
        held.n_tests,
        held.standard_error,
        held.degrees_of_freedom,
        held.min_effect,
        held.level,
        held.confirming_run_id,
        held.confirming_difference,
        held.confirming_p_value,
        held.n_samples,
        held.n_variants,
        held.n_repetitions,
        held.reason,
        churned.churn_within_a_run,
        coalesce(churned.churn_state, 'unknown') as churn_state,
        case
            when held.reason is not null then 'not_comparable'
            when held.measure in ('cost_usd', 'latency_ms') and held.max_increase is null then 'not_judged'
            when held.measure in ('cost_usd', 'latency_ms')
                then case
                    when held.candidate > held.base * (1 + held.max_increase) then 'regressed'
                    when held.candidate < held.base * (1 - held.max_increase) then 'improved'
                    else 'within_noise'
                end
            when held.p_value is null then 'not_comparable'
            when not held.holds then 'within_noise'
            when held.measure = 'label_churn' then 'changed'
            when held.worse_by > 0 then 'regressed'
            else 'improved'
        end as verdict,
        coalesce(held.is_unconfirmed, false) as is_unconfirmed
    from held
    left join churned using (comparison_id, model_id, task_id, strategy)
)

select * from final
