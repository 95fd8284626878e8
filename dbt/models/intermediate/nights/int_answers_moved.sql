-- One row per night, model, task, strategy and measure: in how many samples tonight differs from the newest normal night, in
-- words that the task has. The label that most more samples of a gold label have as their commonest answer; without one the
-- samples that are wrong in most of their answers; of label_churn those with another commonest answer.
{{ config(materialized='view') }}
with nights as {{ all_of('int_newest_normal_nights') }},

figures as {{ all_of('int_values_in_use', where="measure not in " ~ answer_measures()) }},

pairs as (
    select
        audit_run_id,
        normal_run_id as base_run_id,
        model_id,
        model_id as base_model_id,
        strategy as base_strategy,
        task_id,
        strategy
    from nights
),

paired as {{ confusions_moved('pairs') }},

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
        paired.moved_gold_label,
        paired.moved_label,
        if(paired.moved_gold_label is null, valued.n_tonight, paired.n_moved) as n_moved,
        if(paired.moved_gold_label is null, valued.n_before, paired.n_moved_before) as n_moved_before,
        if(paired.moved_gold_label is null, valued.n_samples, paired.n_moved_samples) as n_moved_samples
    from valued
    left join paired using (audit_run_id, model_id, task_id, strategy)
    where paired.moved_gold_label is not null or valued.measure = 'micro_f1' or starts_with(valued.measure, 'accuracy:')
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        {{ class_measure('moved_gold_label') }} as measure,
        moved_gold_label,
        moved_label,
        n_moved,
        n_moved_before,
        n_moved_samples
    from paired
    where moved_gold_label is not null
    union all by name
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        'label_churn' as measure,
        n_called_otherwise as n_moved,
        n_samples as n_moved_samples
    from paired
)

select * from final
