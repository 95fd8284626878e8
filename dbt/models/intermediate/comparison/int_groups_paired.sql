-- One row per comparison, model, task and strategy that either of its runs asked: whether the two can be held together.
with comparisons as (
    select * from {{ ref('stg_comparisons') }}
    where {{ compared_in_this_build() }}
),

bases as (
    select
        comparisons.comparison_id,
        coalesce(comparisons.candidate_model_id, scorecards.model_id) as model_id,
        scorecards.model_id as base_model_id,
        scorecards.task_id,
        scorecards.strategy,
        scorecards.n_landed,
        scorecards.cost_usd
    from comparisons
    inner join {{ ref('rpt_audit') }} as scorecards on comparisons.base_run_id = scorecards.audit_run_id
    where comparisons.base_model_id is null or comparisons.base_model_id = scorecards.model_id
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
    inner join {{ ref('rpt_audit') }} as scorecards on comparisons.candidate_run_id = scorecards.audit_run_id
    where comparisons.candidate_model_id is null or comparisons.candidate_model_id = scorecards.model_id
),

paired as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        bases.base_model_id,
        bases.n_landed as base_n_landed,
        bases.cost_usd as base_cost_usd,
        candidates.n_landed as candidate_n_landed,
        candidates.cost_usd as candidate_cost_usd
    from bases
    full join candidates using (comparison_id, model_id, task_id, strategy)
),

tasks as (
    select
        tasks.audit_run_id,
        tasks.task_id,
        tasks.level,
        coalesce(list(labels.label order by labels.label_index) filter (labels.label is not null), []) as labels
    from {{ ref('stg_tasks') }} as tasks
    left join {{ ref('stg_task_labels') }} as labels using (audit_run_id, task_id)
    where {{ in_this_build('tasks.audit_run_id') }}
    group by all
),

final as (
    select
        paired.*,
        comparisons.base_run_id,
        comparisons.candidate_run_id,
        comparisons.min_effect,
        comparisons.max_cost_increase,
        comparisons.max_latency_increase,
        comparisons.n_resamples,
        comparisons.seed,
        runs.audit_id,
        candidate_tasks.level,
        candidate_tasks.labels,
        case
            when paired.base_n_landed is null then 'not in the base run'
            when paired.candidate_n_landed is null then 'not in the candidate run'
            when base_tasks.labels != candidate_tasks.labels then 'other label set'
            when base_tasks.level != candidate_tasks.level then 'other level of measurement'
        end as reason
    from paired
    inner join comparisons using (comparison_id)
    inner join {{ ref('stg_audit_runs') }} as runs on comparisons.candidate_run_id = runs.audit_run_id
    left join tasks as base_tasks
        on comparisons.base_run_id = base_tasks.audit_run_id and paired.task_id = base_tasks.task_id
    left join tasks as candidate_tasks
        on comparisons.candidate_run_id = candidate_tasks.audit_run_id and paired.task_id = candidate_tasks.task_id
)

select * from final
