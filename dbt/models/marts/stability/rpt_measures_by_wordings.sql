-- One row per run, model, task, strategy and number of wordings (2 to all, at most 12 numbers): the measures over so many.
with wordings as {{ of_this_build('int_wordings_shared') }},

labels as {{ of_this_build('stg_task_labels') }},

runs as {{ of_this_build('stg_audit_runs') }},

classes as {{ classes_of('labels') }},

measured as (
    select
        wordings.audit_run_id,
        wordings.model_id,
        wordings.task_id,
        wordings.strategy,
        unnest(
            try_measures_by_wordings(
                {{ group_keys('wordings') }},
                list(gold_labels.label_index),
                list(wordings.sample_index),
                list(wordings.wording_index),
                list(wordings.label_index),
                list(wordings.p_wording),
                any_value(classes.n_classes),
                any_value(runs.seed)
            )
        ) as point
    from wordings
    inner join classes using (audit_run_id, task_id)
    inner join runs using (audit_run_id)
    left join labels as gold_labels
        on
            wordings.audit_run_id = gold_labels.audit_run_id
            and wordings.task_id = gold_labels.task_id
            and wordings.gold_label = gold_labels.label
    group by wordings.audit_run_id, wordings.model_id, wordings.task_id, wordings.strategy
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        point.n_wordings as n_wordings,
        point.sensitivity as sensitivity,
        point.is_sensitivity_exact as is_sensitivity_exact,
        point.consistency as consistency,
        point.consistency_subset_std as consistency_subset_std,
        point.n_subsets as n_subsets,
        point.n_samples as n_samples,
        {{ measure_version() }}
    from measured
)

select * from final
