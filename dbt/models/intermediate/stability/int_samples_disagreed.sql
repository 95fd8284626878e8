-- One row per run, model, task and strategy, and per sample left out of it (NULL: none is): how often two samples disagree.
with counted as (
    select * from {{ ref('int_labels_counted') }}
    where {{ in_this_build() }}
),

summed as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(p_variant) as p_summed
    from counted
    group by all
),

shares as (
    select
        * exclude (p_summed),
        p_summed / sum(p_summed) over (partition by audit_run_id, model_id, task_id, strategy, sample_index) as p_sample
    from summed
),

labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        label_index,
        sum(p_sample) as p_summed,
        sum(p_sample * p_sample) as p_squares_summed
    from shares
    group by all
),

totals as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sum(p_summed * p_summed - p_squares_summed) as agreeing_pairs
    from labels
    group by all
),

sizes as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(distinct sample_index) as n_samples
    from shares
    group by all
),

-- leaving a sample out takes the pairs it agrees in away: 2 * p_ic * (P_c - p_ic) a label
without_each as (
    select
        shares.audit_run_id,
        shares.model_id,
        shares.task_id,
        shares.strategy,
        shares.sample_index as without_sample_index,
        sum(2 * shares.p_sample * (labels.p_summed - shares.p_sample)) as agreeing_pairs_lost
    from shares
    inner join labels using (audit_run_id, model_id, task_id, strategy, label_index)
    group by all
),

remaining as (
    select
        without_each.*,
        totals.agreeing_pairs - without_each.agreeing_pairs_lost as agreeing_pairs,
        sizes.n_samples - 1 as n_samples
    from without_each
    inner join totals using (audit_run_id, model_id, task_id, strategy)
    inner join sizes using (audit_run_id, model_id, task_id, strategy)
    union all by name
    select
        totals.*,
        sizes.n_samples,
        null as without_sample_index
    from totals
    inner join sizes using (audit_run_id, model_id, task_id, strategy)
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        without_sample_index,
        n_samples,
        1 - agreeing_pairs / nullif(n_samples * (n_samples - 1), 0) as sample_disagreement
    from remaining
)

select * from final
