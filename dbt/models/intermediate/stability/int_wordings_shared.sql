-- One row per run, model, task, strategy, sample, wording and label: the label's share among the wording's answers.
with counted as {{ of_this_build('int_labels_counted') }},

asked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        wording_index,
        count(distinct prompt_variant_id) as n_prompt_variants
    from counted
    group by all
),

final as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        counted.sample_id,
        counted.sample_index,
        counted.gold_label,
        counted.wording_index,
        any_value(counted.family_index) as family_index,
        counted.label_index,
        sum(counted.p_variant) / any_value(asked.n_prompt_variants) as p_wording
    from counted
    inner join asked using (audit_run_id, model_id, task_id, strategy, sample_index, wording_index)
    group by all
)

select * from final
