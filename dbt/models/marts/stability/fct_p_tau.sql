-- One row per run, model, task, strategy, sample and label, N/A (NULL) among them: the share of wordings that gave it.
with wordings as {{ of_this_build('int_wordings_shared') }},

task_labels as {{ of_this_build('stg_task_labels') }},

tasks as {{ of_this_build('stg_tasks') }},

samples as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        sample_index,
        gold_label,
        count(distinct wording_index) as n_variants
    from wordings
    group by all
),

labels as (
    select
        audit_run_id,
        task_id,
        label,
        label_index
    from task_labels
    union all
    select
        audit_run_id,
        task_id,
        null as label,
        -1 as label_index
    from tasks
),

summed as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(p_wording) as p_summed
    from wordings
    group by all
),

final as (
    select
        samples.audit_run_id,
        samples.model_id,
        samples.task_id,
        samples.strategy,
        samples.sample_id,
        samples.sample_index,
        samples.gold_label,
        labels.label,
        labels.label_index,
        coalesce(summed.p_summed, 0) / samples.n_variants as p_tau,
        samples.n_variants,
        {{ measure_version() }}
    from samples
    inner join labels using (audit_run_id, task_id)
    left join summed using (audit_run_id, model_id, task_id, strategy, sample_index, label_index)
)

select * from final
