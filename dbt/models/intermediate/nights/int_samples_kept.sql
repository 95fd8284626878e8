-- One row per night, earlier night, task and sample that both asked: the same id, text, options and gold label; and its cluster.
-- In the places of samples also the anchors of judges, and the answers of which both nights had a verdict.
{{ config(materialized='view') }}
with nights as (
    select distinct
        audit_run_id,
        task_id,
        other_run_id
    from {{ ref('int_nights_in_use') }}
),

-- samples without a cluster are one each; a cluster's index is that of its first sample
samples as (
    select
        audit_run_id,
        task_id,
        sample_id,
        sample_index,
        input,
        options,
        gold_label,
        min(sample_index) over (
            partition by audit_run_id, task_id, cluster, if(cluster is null, sample_id, null)
        ) as cluster_index
    from {{ ref('dim_samples') }}
),

kept as (
    select
        nights.audit_run_id,
        nights.other_run_id,
        nights.task_id,
        own.sample_id,
        own.sample_index,
        own.cluster_index
    from nights
    inner join samples as own
        on nights.audit_run_id = own.audit_run_id and nights.task_id = own.task_id
    inner join samples as other
        on
            nights.other_run_id = other.audit_run_id
            and own.task_id = other.task_id
            and own.sample_id = other.sample_id
            and own.input is not distinct from other.input
            and own.options is not distinct from other.options
            and own.gold_label is not distinct from other.gold_label
),

anchors as (
    select distinct
        audit_run_id,
        task_id,
        anchor_id,
        sample_id
    from {{ ref('fct_judge_anchors') }}
),

judged as (
    select distinct
        audit_run_id,
        task_id,
        sample_id,
        measure
    from {{ ref('fct_sample_values') }}
    where {{ is_judge() }}
),

numbered as (
    select
        *,
        (row_number() over (partition by audit_run_id, task_id order by sample_id) - 1)::integer as sample_index
    from judged
),

final as (
    select * from kept
    union all by name
    select
        nights.audit_run_id,
        nights.other_run_id,
        nights.task_id,
        own.sample_id,
        own.sample_index,
        own.sample_index as cluster_index
    from nights
    inner join numbered as own
        on nights.audit_run_id = own.audit_run_id and nights.task_id = own.task_id
    semi join judged as other
        on
            nights.other_run_id = other.audit_run_id
            and own.task_id = other.task_id
            and own.measure = other.measure
            and own.sample_id = other.sample_id
    left join anchors
        on
            own.audit_run_id = anchors.audit_run_id
            and own.task_id = anchors.task_id
            and own.measure = 'judge_agreement'
            and own.sample_id = anchors.anchor_id
    left join kept
        on
            nights.audit_run_id = kept.audit_run_id
            and nights.other_run_id = kept.other_run_id
            and nights.task_id = kept.task_id
            and anchors.sample_id = kept.sample_id
    where own.measure = 'judge_match_rate' or kept.sample_id is not null
)

select * from final
