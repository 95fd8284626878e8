-- One row per comparison, model, task and strategy that either of its runs asked: whether the two can be held together.
with comparisons as {{ all_of('stg_comparisons', where=compared_in_this_build()) }},

scorecards as {{ of_this_build('rpt_audit') }},

tasks as {{ of_this_build('dim_tasks') }},

runs as {{ of_this_build('stg_audit_runs') }},

bases as (
    select
        comparisons.comparison_id,
        coalesce(comparisons.candidate_model_id, scorecards.model_id) as model_id,
        scorecards.model_id as base_model_id,
        scorecards.task_id,
        coalesce(comparisons.candidate_strategy, scorecards.strategy) as strategy,
        scorecards.strategy as base_strategy,
        scorecards.n_landed,
        scorecards.cost_usd
    from comparisons
    inner join scorecards on comparisons.base_run_id = scorecards.audit_run_id
    where
        coalesce(comparisons.base_model_id, scorecards.model_id) = scorecards.model_id
        and coalesce(comparisons.base_strategy, scorecards.strategy) = scorecards.strategy
),

candidates as (
    select
        comparisons.comparison_id,
        scorecards.model_id,
        scorecards.task_id,
        scorecards.strategy,
        scorecards.n_landed,
        scorecards.cost_usd
    from comparisons
    inner join scorecards on comparisons.candidate_run_id = scorecards.audit_run_id
    where
        coalesce(comparisons.candidate_model_id, scorecards.model_id) = scorecards.model_id
        and coalesce(comparisons.candidate_strategy, scorecards.strategy) = scorecards.strategy
),

paired as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        bases.base_model_id,
        bases.base_strategy,
        bases.n_landed as base_n_landed,
        bases.cost_usd as base_cost_usd,
        candidates.n_landed as candidate_n_landed,
        candidates.cost_usd as candidate_cost_usd
    from bases
    full join candidates using (comparison_id, model_id, task_id, strategy)
),

scales as (
    select
        audit_run_id,
        task_id,
        level,
        coalesce(labels, []) as labels
    from tasks
),

final as (
    select
        paired.*,
        paired.base_model_id != paired.model_id or paired.base_strategy != paired.strategy as are_two_groups,
        comparisons.base_run_id,
        comparisons.candidate_run_id,
        comparisons.min_effect,
        comparisons.max_cost_increase,
        comparisons.max_latency_increase,
        runs.audit_id,
        candidate_scales.level,
        candidate_scales.labels,
        case
            when paired.base_n_landed is null then 'not in the base run'
            when paired.candidate_n_landed is null then 'not in the candidate run'
            when base_scales.labels != candidate_scales.labels then 'other label set'
            when base_scales.level != candidate_scales.level then 'other level of measurement'
        end as reason
    from paired
    inner join comparisons using (comparison_id)
    inner join runs on comparisons.candidate_run_id = runs.audit_run_id
    left join scales as base_scales
        on comparisons.base_run_id = base_scales.audit_run_id and paired.task_id = base_scales.task_id
    left join scales as candidate_scales
        on comparisons.candidate_run_id = candidate_scales.audit_run_id and paired.task_id = candidate_scales.task_id
    -- a task that only one of two strategies asks is nothing to compare
    where comparisons.base_strategy is null or (paired.base_n_landed is not null and paired.candidate_n_landed is not null)
)

select * from final
