-- One row per run, model, task, strategy, sample with a gold label and label it ever got (NULL is N/A).
select
    p_tau.audit_run_id,
    p_tau.model_id,
    p_tau.task_id,
    p_tau.strategy,
    p_tau.gold_label,
    gold.label_index as gold_index,
    p_tau.sample_index,
    nullif(p_tau.label_index, -1) as label_index,
    p_tau.p_tau
from {{ ref('fct_p_tau') }} as p_tau
inner join {{ ref('stg_task_labels') }} as gold
    on
        p_tau.audit_run_id = gold.audit_run_id
        and p_tau.task_id = gold.task_id
        and p_tau.gold_label = gold.label
where p_tau.p_tau > 0 and {{ in_this_build('p_tau.audit_run_id') }}
