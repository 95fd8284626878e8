-- One row per run, model, task, strategy and sample with a gold label: whether it is right in all of its asks, and in any. NULL
-- where an ask has no answer: samples that one wrong answer settles would count, and those that it does not would not.
{{ config(materialized='view') }}
with cells as {{ of_this_build('int_cells_averaged', where='accuracy is not null') }},

completed as {{ of_this_build('int_labels_completed', where="counted_as = 'na'") }},

planned as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        sum(n_answers) as n_asks
    from completed
    group by all
),

samples as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        min(accuracy) = 1 as is_never_wrong,
        max(accuracy) > 0 as is_ever_right,
        sum(n_asks) as n_answers
    from cells
    group by all
),

final as (
    select
        samples.audit_run_id,
        samples.model_id,
        samples.task_id,
        samples.strategy,
        samples.sample_index,
        coalesce(planned.n_asks > samples.n_answers, false) as is_lacking,
        if(is_lacking, null, samples.is_never_wrong) as is_right_under_all,
        if(is_lacking, null, samples.is_ever_right) as is_right_under_any
    from samples
    left join planned using (audit_run_id, model_id, task_id, strategy, sample_index)
)

select * from final
