-- One row per run, model, task, strategy, sample, family of wordings and label: the label's mean share over its wordings.
{{ config(materialized='view') }}
with wordings as {{ of_this_build('int_wordings_shared') }},

asked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        family_index,
        count(distinct wording_index) as n_wordings
    from wordings
    group by all
),

final as (
    select
        wordings.audit_run_id,
        wordings.model_id,
        wordings.task_id,
        wordings.strategy,
        wordings.sample_index,
        wordings.family_index,
        wordings.label_index,
        sum(wordings.p_wording) / any_value(asked.n_wordings) as p_family
    from wordings
    inner join asked using (audit_run_id, model_id, task_id, strategy, sample_index, family_index)
    group by all
)

select * from final
