-- One row per night, earlier night, task and sample that the earlier one asked and tonight asks too: the same text, options and
-- gold label. Where panels go round also the samples of other panels, as the newest night had them. In the places of samples also
-- the anchors of judges, and the answers of which both nights had a verdict.
with nights as (
    select
        audit_run_id,
        task_id,
        other_run_id,
        min(age) as age
    from {{ ref('int_nights_in_use') }}
    group by all
),

rotating as (
    select
        audit_run_id,
        task_id,
        bool_or(is_rotating) as is_rotating
    from {{ ref('int_nights_before') }}
    group by all
),

asked as (
    select
        nights.audit_run_id,
        nights.other_run_id,
        nights.task_id,
        nights.age,
        samples.sample_id,
        samples.cluster,
        md5(json_array(samples.input, samples.options, samples.gold_label)::varchar) as content
    from nights
    inner join {{ ref('dim_samples') }} as samples
        on nights.other_run_id = samples.audit_run_id and nights.task_id = samples.task_id
),

newest as (
    select
        audit_run_id,
        task_id,
        sample_id,
        min(age) as age,
        arg_min(content, age) as content,
        arg_min_null(cluster, age) as cluster
    from asked
    group by all
),

numbered_samples as (
    select
        *,
        (row_number() over (partition by audit_run_id, task_id order by sample_id) - 1)::integer as sample_index
    from newest
),

-- samples without a cluster are one each; a cluster's index is that of its first sample
clustered as (
    select
        *,
        min(sample_index) over (
            partition by audit_run_id, task_id, cluster, if(cluster is null, sample_id, null)
        ) as cluster_index
    from numbered_samples
),

kept as (
    select
        asked.audit_run_id,
        asked.other_run_id,
        asked.task_id,
        asked.sample_id,
        clustered.sample_index,
        clustered.cluster_index,
        clustered.age = 0 as is_asked_tonight
    from asked
    inner join clustered using (audit_run_id, task_id, sample_id)
    inner join rotating using (audit_run_id, task_id)
    where asked.content = clustered.content and (clustered.age = 0 or rotating.is_rotating)
),

anchors as (
    select distinct
        audit_run_id,
        task_id,
        anchor_id,
        sample_id,
        is_match_known
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
    select
        kept.audit_run_id,
        kept.other_run_id,
        kept.task_id,
        kept.sample_id,
        kept.sample_index,
        kept.cluster_index,
        kept.is_asked_tonight,
        false as is_of_judge
    from kept
    union all by name
    select
        nights.audit_run_id,
        nights.other_run_id,
        nights.task_id,
        own.sample_id,
        own.sample_index,
        own.sample_index as cluster_index,
        true as is_asked_tonight,
        true as is_of_judge
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
    left join anchors as anchors_before
        on
            nights.other_run_id = anchors_before.audit_run_id
            and anchors.task_id = anchors_before.task_id
            and anchors.anchor_id = anchors_before.anchor_id
    left join kept
        on
            nights.audit_run_id = kept.audit_run_id
            and nights.other_run_id = kept.other_run_id
            and nights.task_id = kept.task_id
            and anchors.sample_id = kept.sample_id
    where
        own.measure = 'judge_match_rate'
        -- what people say of it may have changed since
        or (kept.sample_id is not null and anchors.is_match_known = anchors_before.is_match_known)
)

select * from final
