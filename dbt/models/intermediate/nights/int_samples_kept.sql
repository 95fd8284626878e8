-- One row per night, earlier night, task and sample that both asked: the same id, text, options and gold label; and its cluster.
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

final as (
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
)

select * from final
