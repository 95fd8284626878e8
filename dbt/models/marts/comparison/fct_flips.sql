-- One row per comparison, model, task, strategy, sample and flip: steady to unsteady and back, right to wrong and back.
-- Steady: nine answers in ten say the same; unsteady: less than three in four. Right: three in four are; wrong: one in four.
-- Between the two nothing flips, so that a sample at an edge does not flip every night.
{{ config(pre_hook='{{ delete_compared_in_this_build() }}') }}
with answers as {{ all_of('int_answers_paired') }},

comparisons as {{ all_of('stg_comparisons', where=compared_in_this_build()) }},

cells as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        variant,
        repetition,
        count(distinct side) = 2 as is_shared
    from answers
    group by all
),

groups as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        count(distinct variant) filter (is_shared) > 1 as has_shared
    from cells
    group by all
),

-- on the cells both runs have; on all where they share no wording but the original
counted as (
    select
        answers.comparison_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        answers.sample_id,
        answers.side,
        answers.variant,
        answers.label_index,
        count(*) as n_answers,
        count(*) filter (answers.is_correct) as n_correct,
        count(answers.is_correct) as n_keyed
    from answers
    inner join cells using (comparison_id, model_id, task_id, strategy, sample_id, variant, repetition)
    inner join groups using (comparison_id, model_id, task_id, strategy)
    where cells.is_shared or not groups.has_shared
    group by all
),

shares as (
    select
        *,
        n_answers / sum(n_answers) over (
            partition by comparison_id, model_id, task_id, strategy, sample_id, side, variant
        ) as share
    from counted
),

labels as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        side,
        label_index,
        sum(share) as weight,
        sum(n_correct) as n_correct,
        sum(n_keyed) as n_keyed
    from shares
    group by all
),

samples as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        max(weight) filter (side = 0) / nullif(sum(weight) filter (side = 0), 0) as base_largest_share,
        coalesce(sum(weight) filter (side = 0 and n_correct > 0), 0)
        / nullif(sum(weight) filter (side = 0 and n_keyed > 0), 0) as base_share_right,
        max(weight) filter (side = 1) / nullif(sum(weight) filter (side = 1), 0) as candidate_largest_share,
        coalesce(sum(weight) filter (side = 1 and n_correct > 0), 0)
        / nullif(sum(weight) filter (side = 1 and n_keyed > 0), 0) as candidate_share_right
    from labels
    group by all
),

flips as (
    select
        *,
        unnest(list_filter([
            if(base_largest_share >= 0.9 and candidate_largest_share < 0.75, 'became_unsteady', null),
            if(candidate_largest_share >= 0.9 and base_largest_share < 0.75, 'became_steady', null),
            if(base_share_right >= 0.75 and candidate_share_right <= 0.25, 'became_wrong', null),
            if(candidate_share_right >= 0.75 and base_share_right <= 0.25, 'became_right', null)
        ], lambda flip: flip is not null)) as flip
    from samples
),

final as (
    select
        flips.comparison_id,
        comparisons.base_run_id,
        comparisons.candidate_run_id,
        flips.model_id,
        flips.task_id,
        flips.strategy,
        flips.sample_id,
        flips.flip,
        flips.base_share_right::double as base_share_right,
        flips.candidate_share_right::double as candidate_share_right,
        flips.base_largest_share::double as base_largest_share,
        flips.candidate_largest_share::double as candidate_largest_share,
        {{ measure_version() }}
    from flips
    inner join comparisons using (comparison_id)
)

select * from final
