-- One row per run, model, task, strategy, measure and sample: what answers alone say of the sample. Of label_churn it is how much
-- its cells disagree with themselves, 1 - sum n (n - 1) / (R (R - 1)), averaged over those that were asked twice or more.
{{ config(materialized='view') }}
with measured as (
    select * from {{ ref('int_predictions_measured') }}
    where {{ in_this_build() }}
),

by_wording as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        prompt_variant_id,
        count(*) as n_asked,
        avg(is_correct::integer) as share_right,
        avg((label is null)::integer) as share_invalid
    from measured
    group by all
),

said as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        prompt_variant_id,
        label_index,
        count(*) as n_said
    from measured
    group by all
),

within_nights as (
    select
        said.audit_run_id,
        said.model_id,
        said.task_id,
        said.strategy,
        said.sample_index,
        said.prompt_variant_id,
        1 - sum(said.n_said * (said.n_said - 1)) / any_value(by_wording.n_asked * (by_wording.n_asked - 1)) as apart
    from said
    inner join by_wording using (audit_run_id, model_id, task_id, strategy, sample_index, prompt_variant_id)
    where by_wording.n_asked > 1
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'micro_f1' as measure,
        sample_index,
        avg(share_right) as figure
    from by_wording
    group by all
    having count(share_right) > 0
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'invalid_rate' as measure,
        sample_index,
        avg(share_invalid) as figure
    from by_wording
    group by all
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'label_churn' as measure,
        sample_index,
        avg(apart) as figure
    from within_nights
    group by all
)

select * from final
