-- One row per run, model, task and strategy: how much of all disagreement is wording, noise and item, with intervals.
-- NULL unless rephrasings are asked twice. Intervals: the jackknife over samples.
with samples as (
    select * from {{ ref('int_disagreements') }}
    where {{ in_this_build() }}
),

disagreed as (
    select * from {{ ref('int_samples_disagreed') }}
    where {{ in_this_build() }}
),

totals as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sum(repeat_disagreement_summed) as repeat_summed,
        sum(n_repeated_variants) as n_repeated,
        sum(variant_disagreement) as variant_summed,
        count(variant_disagreement) as n_variant,
        max(n_repeated_variants) >= 2 as is_repeated
    from samples
    group by all
),

replicates as (
    select
        disagreed.audit_run_id,
        disagreed.model_id,
        disagreed.task_id,
        disagreed.strategy,
        disagreed.without_sample_index,
        totals.is_repeated,
        nullif(disagreed.sample_disagreement, 0) as d_sample,
        (totals.repeat_summed - coalesce(samples.repeat_disagreement_summed, 0))
        / nullif(totals.n_repeated - coalesce(samples.n_repeated_variants, 0), 0) as d_repeat,
        (totals.variant_summed - coalesce(samples.variant_disagreement, 0))
        / nullif(totals.n_variant - (samples.variant_disagreement is not null)::integer, 0) as d_variant
    from disagreed
    inner join totals using (audit_run_id, model_id, task_id, strategy)
    left join samples
        on
            disagreed.audit_run_id = samples.audit_run_id
            and disagreed.model_id = samples.model_id
            and disagreed.task_id = samples.task_id
            and disagreed.strategy = samples.strategy
            and disagreed.without_sample_index = samples.sample_index
),

shares as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        without_sample_index,
        unnest([
            {'share': 'wording', 'value': (d_variant - d_repeat) / d_sample},
            {'share': 'noise', 'value': d_repeat / d_sample},
            {'share': 'item', 'value': (d_sample - d_variant) / d_sample}
        ]) as pair
    from replicates
    where is_repeated
),

measured as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        pair.share,
        max(pair.value) filter (without_sample_index is null) as value,
        count(pair.value) filter (without_sample_index is not null) as n,
        jackknife_half_width(list(pair.value) filter (without_sample_index is not null)) as half_width
    from shares
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        max(value) filter (share = 'wording') as wording_share,
        max(value - half_width) filter (share = 'wording') as wording_share_low,
        max(value + half_width) filter (share = 'wording') as wording_share_high,
        max(value) filter (share = 'noise') as noise_share,
        max(value - half_width) filter (share = 'noise') as noise_share_low,
        max(value + half_width) filter (share = 'noise') as noise_share_high,
        max(value) filter (share = 'item') as item_share,
        max(value - half_width) filter (share = 'item') as item_share_low,
        max(value + half_width) filter (share = 'item') as item_share_high
    from measured
    group by all
)

select * from final
