-- One row per comparison, model, task, strategy and measure of groups that cannot be held together, or that share no answered
-- sample: why.
{{ config(materialized='view') }}
with paired as {{ all_of('int_groups_paired') }},

answers as {{ all_of('int_answers_paired') }},

answered as (
    select distinct
        comparison_id,
        model_id,
        task_id,
        strategy
    from answers
    where side < 2
),

final as (
    select
        paired.comparison_id,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        unnest([
            'sensitivity', 'consistency', 'micro_f1', 'pss_intra', 'pss_inter', 'invalid_rate', 'label_churn',
            'accuracy', 'accuracy_std', 'cost_usd', 'latency_ms'
        ]) as measure,
        coalesce(paired.reason, 'other samples') as reason
    from paired
    left join answered using (comparison_id, model_id, task_id, strategy)
    where paired.reason is not null or answered.comparison_id is null
)

select * from final
