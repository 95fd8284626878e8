-- One row per comparison, model, task, strategy and measure of what answers take: cost_usd and latency_ms, which are not tested.
{{ config(materialized='view') }}
with paired as {{ all_of('int_groups_paired', where='reason is null') }},

answers as {{ all_of('int_answers_paired') }},

latencies as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        'latency_ms' as measure,
        median(latency_ms) filter (side = 0) as base,
        median(latency_ms) filter (side = 1) as candidate,
        null as reason
    from answers
    group by all
    having count(latency_ms) filter (side = 0) > 0 and count(latency_ms) filter (side = 1) > 0
),

costs as (
    select
        paired.comparison_id,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        'cost_usd' as measure,
        paired.base_cost_usd as base,
        paired.candidate_cost_usd as candidate,
        if(paired.base_n_landed != paired.candidate_n_landed, 'another number of answers', null) as reason
    from paired
    semi join answers using (comparison_id, model_id, task_id, strategy)
    where paired.base_cost_usd is not null and paired.candidate_cost_usd is not null
),

measured as (
    select * from latencies
    union all
    select * from costs
),

final as (
    select
        *,
        candidate - base as difference
    from measured
)

select * from final
