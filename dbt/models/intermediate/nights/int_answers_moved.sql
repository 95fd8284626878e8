-- One row per night, model, task, strategy and measure: in how many samples tonight differs from the newest normal night, in
-- words that the task has. The label that most more samples of a gold label have as their commonest answer; without one the
-- samples that are wrong in most of their answers; of label_churn those with another commonest answer.
{{ config(materialized='view') }}
with nights as (
    select * from {{ ref('int_newest_normal_nights') }}
),

kept as (
    select
        audit_run_id,
        other_run_id as normal_run_id,
        task_id,
        sample_id
    from {{ ref('int_samples_kept') }}
),

p_tau as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        any_value(gold_label) as gold_label,
        -- of equally common ones the first of the card; no valid answer is the last
        arg_max_null(label, (p_tau, label_index >= 0, -label_index)) as label
    from {{ ref('fct_p_tau') }}
    group by all
),

figures as (
    select * from {{ ref('int_values_in_use') }}
    where measure != 'label_churn' and measure not in {{ answer_measures() }}
),

paired as (
    select
        nights.audit_run_id,
        nights.model_id,
        nights.task_id,
        nights.strategy,
        tonight.gold_label,
        tonight.label,
        before.label as label_before
    from nights
    inner join kept using (audit_run_id, normal_run_id, task_id)
    inner join p_tau as tonight using (audit_run_id, model_id, task_id, strategy, sample_id)
    inner join p_tau as before
        on
            nights.normal_run_id = before.audit_run_id
            and nights.model_id = before.model_id
            and nights.task_id = before.task_id
            and nights.strategy = before.strategy
            and kept.sample_id = before.sample_id
),

golds as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        count(*) as n_samples
    from paired
    where gold_label is not null
    group by all
),

said as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        label,
        true as is_tonight
    from paired
    where gold_label is not null
    union all
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        label_before as label,
        false as is_tonight
    from paired
    where gold_label is not null
),

counted as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        label,
        count(*) filter (is_tonight) as n_tonight,
        count(*) filter (not is_tonight) as n_before
    from said
    where label is distinct from gold_label
    group by all
),

confused as (
    select
        counted.*,
        golds.n_samples
    from counted
    inner join golds using (audit_run_id, model_id, task_id, strategy, gold_label)
    where counted.n_tonight > counted.n_before
    qualify
        row_number() over (
            partition by counted.audit_run_id, counted.model_id, counted.task_id, counted.strategy
            order by
                counted.n_tonight - counted.n_before desc,
                counted.gold_label asc,
                counted.label asc nulls last
        ) = 1
),

others as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'label_churn' as measure,
        count(*) filter (label is distinct from label_before) as n_tonight,
        count(*) as n_samples
    from paired
    group by all
),

known_in_both as (
    select
        figures.audit_run_id,
        figures.model_id,
        figures.task_id,
        figures.strategy,
        figures.measure,
        figures.sample_id,
        any_value(figures.figure) filter (figures.age = 0) as tonight,
        any_value(figures.figure) filter (figures.age > 0) as before
    from figures
    inner join nights using (audit_run_id, model_id, task_id, strategy)
    where figures.age = 0 or figures.other_run_id = nights.normal_run_id
    group by all
    having count(*) = 2
),

valued as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        count(*) filter (tonight < 0.5) as n_tonight,
        count(*) filter (before < 0.5) as n_before,
        count(*) as n_samples
    from known_in_both
    group by all
),

final as (
    select
        valued.audit_run_id,
        valued.model_id,
        valued.task_id,
        valued.strategy,
        valued.measure,
        confused.gold_label as moved_gold_label,
        confused.label as moved_label,
        if(confused.gold_label is null, valued.n_tonight, confused.n_tonight) as n_moved,
        if(confused.gold_label is null, valued.n_before, confused.n_before) as n_moved_before,
        if(confused.gold_label is null, valued.n_samples, confused.n_samples) as n_moved_samples
    from valued
    left join confused using (audit_run_id, model_id, task_id, strategy)
    where confused.gold_label is not null or valued.measure = 'micro_f1' or starts_with(valued.measure, 'accuracy:')
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        measure,
        n_tonight as n_moved,
        n_samples as n_moved_samples
    from others
)

select * from final
