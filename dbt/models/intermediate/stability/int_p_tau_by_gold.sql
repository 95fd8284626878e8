-- One row per run, model, task, strategy, sample with a gold label and label it ever got (NULL is N/A).
with p_tau as {{ of_this_build('fct_p_tau', where='p_tau > 0') }},

labels as {{ of_this_build('stg_task_labels') }},

final as (
    select
        p_tau.audit_run_id,
        p_tau.model_id,
        p_tau.task_id,
        p_tau.strategy,
        p_tau.gold_label,
        labels.label_index as gold_index,
        p_tau.sample_index,
        nullif(p_tau.label_index, -1) as label_index,
        p_tau.p_tau
    from p_tau
    inner join labels
        on
            p_tau.audit_run_id = labels.audit_run_id
            and p_tau.task_id = labels.task_id
            and p_tau.gold_label = labels.label
)

select * from final
