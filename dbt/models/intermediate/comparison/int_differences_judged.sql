-- One row per comparison, model, task, strategy and measure: the verdict on its difference. Its p-value is adjusted for all that
-- is tested between the two runs (Benjamini and Hochberg).
with figures as {{ all_of('int_differences') }},

paired as {{ all_of('int_groups_paired') }},

tested as (
    select * from figures
    where p_value is not null
),

adjusted as (
    {{ benjamini_hochberg('tested', family='comparison_id') }}
),

judged as (
    select
        figures.*,
        paired.base_run_id,
        paired.candidate_run_id,
        paired.audit_id,
        paired.base_model_id,
        paired.base_strategy,
        paired.are_two_groups,
        paired.min_effect,
        adjusted.n_tests,
        adjusted.q_value,
        case figures.measure
            when 'cost_usd' then paired.max_cost_increase
            when 'latency_ms' then paired.max_latency_increase
        end as max_increase,
        ({{ worse_sign('figures.measure') }})::integer as worse
    from figures
    inner join paired using (comparison_id, model_id, task_id, strategy)
    left join adjusted using (comparison_id, model_id, task_id, strategy, measure)
),

final as (
    select
        * exclude (max_increase, worse),
        case
            when reason is not null then 'not_comparable'
            when measure in ('cost_usd', 'latency_ms') and max_increase is null then 'not_judged'
            when measure in ('cost_usd', 'latency_ms')
                then case
                    when candidate > base * (1 + max_increase) then 'regressed'
                    when candidate < base * (1 - max_increase) then 'improved'
                    else 'none_shown'
                end
            else difference_verdict(
                difference, difference_low, difference_high, q_value, min_effect, worse, is_unconfirmed,
                measure = 'label_churn'
            )
        end as verdict
    from judged
)

select * from final
