-- One row per comparison, model, task, strategy and measure: the verdict on its difference, and whether the same cells are
-- answered otherwise than chance would have it.
{{ config(materialized='view') }}
with adjusted as {{ all_of('int_differences_adjusted') }},

paired as {{ all_of('int_groups_paired') }},

differences as (
    select
        adjusted.*,
        paired.base_run_id,
        paired.candidate_run_id,
        paired.audit_id,
        paired.base_model_id,
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
        adjusted.q_value <= {{ significance_level() }} and abs(adjusted.difference) >= paired.min_effect as holds
    from adjusted
    inner join paired using (comparison_id, model_id, task_id, strategy)
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
            else 'noise'
        end as churn_state
    from differences
    where measure = 'label_churn'
),

final as (
    select
        differences.comparison_id,
        differences.base_run_id,
        differences.candidate_run_id,
        differences.audit_id,
        differences.base_model_id,
        differences.model_id,
        differences.task_id,
        differences.strategy,
        differences.measure,
        differences.base,
        differences.candidate,
        differences.difference,
        differences.difference_low,
        differences.difference_high,
        differences.p_value,
        differences.p_value_samples,
        differences.p_value_variants,
        differences.q_value,
        differences.n_tests,
        differences.standard_error,
        differences.degrees_of_freedom,
        differences.min_effect,
        differences.n_samples,
        differences.n_variants,
        differences.n_repetitions,
        differences.reason,
        churned.churn_within_a_run,
        coalesce(churned.churn_state, 'unknown') as churn_state,
        case
            when differences.reason is not null then 'not_comparable'
            when differences.measure in ('cost_usd', 'latency_ms') and differences.max_increase is null then 'not_judged'
            when differences.measure in ('cost_usd', 'latency_ms')
                then case
                    when differences.candidate > differences.base * (1 + differences.max_increase) then 'regressed'
                    when differences.candidate < differences.base * (1 - differences.max_increase) then 'improved'
                    else 'within_noise'
                end
            when differences.p_value is null then 'not_comparable'
            when not differences.holds then 'within_noise'
            when differences.measure = 'label_churn' then 'changed'
            when differences.worse_by > 0 then 'regressed'
            else 'improved'
        end as verdict
    from differences
    left join churned using (comparison_id, model_id, task_id, strategy)
)

select * from final
