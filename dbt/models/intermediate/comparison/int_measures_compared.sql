-- One row per comparison, model, task, strategy and measure: both figures, their difference and what chance would give.
with paired as (
    select * from {{ ref('int_groups_paired') }}
    where reason is null
),

labelled as (
    select
        answers.comparison_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        null::varchar as scoring_method,
        compare_answers(
            list(answers.side),
            list(answers.sample_index),
            list(answers.variant),
            list(answers.temperature),
            list(answers.is_original::bigint),
            list(answers.repetition),
            list(answers.label_index),
            list(answers.gold_index),
            any_value(paired.labels),
            any_value(paired.level),
            any_value(paired.seed),
            any_value(paired.n_resamples)
        ) as measures
    from {{ ref('int_answers_paired') }} as answers
    inner join paired using (comparison_id, model_id, task_id, strategy)
    where len(paired.labels) > 0 -- an open task has none
    group by all
),

scored as (
    select
        sides.comparison_id,
        sides.model_id,
        sides.task_id,
        sides.strategy,
        scores.scoring_method,
        compare_accuracies(
            list(sides.side),
            list(samples.sample_index),
            list(variants.variant),
            list(scores.accuracy),
            any_value(paired.seed),
            any_value(paired.n_resamples)
        ) as measures
    from {{ ref('int_sides_paired') }} as sides
    inner join paired using (comparison_id, model_id, task_id, strategy)
    inner join {{ ref('int_scores_averaged') }} as scores
        on
            sides.audit_run_id = scores.audit_run_id
            and sides.own_model_id = scores.model_id
            and sides.task_id = scores.task_id
            and sides.strategy = scores.strategy
    -- numbered in either run as in the base: a sample's place is its run's own
    inner join {{ ref('stg_samples') }} as own
        on
            scores.audit_run_id = own.audit_run_id
            and scores.task_id = own.task_id
            and scores.sample_index = own.sample_index
    inner join {{ ref('int_samples_paired') }} as samples
        on
            sides.comparison_id = samples.comparison_id
            and sides.task_id = samples.task_id
            and own.sample_id = samples.sample_id
    inner join {{ ref('int_variants_paired') }} as variants
        on
            sides.comparison_id = variants.comparison_id
            and sides.task_id = variants.task_id
            and sides.strategy = variants.strategy
            and scores.prompt_variant_id = variants.prompt_variant_id
    where scores.accuracy is not null and {{ in_this_build('scores.audit_run_id') }}
    group by all
),

-- the linter takes the union at the end for one by place
tested as (
    select -- noqa: AM07
        comparison_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        unnest(measures) as compared
    from labelled
    union all
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        scoring_method,
        unnest(measures) as compared
    from scored
),

latencies as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        'latency_ms' as measure,
        median(latency_ms) filter (side = 0) as base,
        median(latency_ms) filter (side = 1) as candidate
    from {{ ref('int_answers_paired') }}
    group by all
    having count(latency_ms) filter (side = 0) > 0 and count(latency_ms) filter (side = 1) > 0
),

costs as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        'cost_usd' as measure,
        base_cost_usd as base,
        candidate_cost_usd as candidate,
        if(base_n_landed != candidate_n_landed, 'another number of answers', null) as reason
    from paired
    where
        base_cost_usd is not null
        and candidate_cost_usd is not null
        and exists (
            select 1
            from {{ ref('int_answers_paired') }} as answers
            where
                paired.comparison_id = answers.comparison_id
                and paired.model_id = answers.model_id
                and paired.task_id = answers.task_id
                and paired.strategy = answers.strategy
        )
),

-- groups that cannot be held together, or that share no answered sample, say so of each measure
apart as (
    select
        groups.comparison_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        unnest([
            'sensitivity', 'consistency', 'micro_f1', 'pss_intra', 'pss_inter', 'invalid_rate', 'label_churn',
            'accuracy', 'accuracy_std', 'cost_usd', 'latency_ms'
        ]) as measure,
        coalesce(groups.reason, 'other samples') as reason
    from {{ ref('int_groups_paired') }} as groups
    where
        groups.reason is not null
        or not exists (
            select 1
            from {{ ref('int_answers_paired') }} as answers
            where
                groups.comparison_id = answers.comparison_id
                and groups.model_id = answers.model_id
                and groups.task_id = answers.task_id
                and groups.strategy = answers.strategy
        )
)

select
    comparison_id,
    model_id,
    task_id,
    strategy,
    concat_ws(':', compared.measure, scoring_method) as measure,
    compared.low as difference_low,
    compared.high as difference_high,
    {%- for column in [
        'base', 'candidate', 'difference', 'p_value', 'p_value_samples', 'p_value_variants', 'standard_error',
        'n_samples', 'n_variants', 'n_repetitions', 'reason'
    ] %}
    compared.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from tested
union all by name
select
    *,
    candidate - base as difference
from latencies
union all by name
select
    *,
    candidate - base as difference
from costs
union all by name
select * from apart
