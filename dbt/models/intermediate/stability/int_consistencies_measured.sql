-- One row per run, model, task and strategy: how alike samples of one class are answered, with intervals.
with runs as {{ of_this_build('stg_audit_runs') }},

labels as {{ of_this_build('stg_task_labels') }},

wordings as {{ of_this_build('int_wordings_shared') }},

by_gold as {{ of_this_build('int_p_tau_by_gold') }},

consistencies as (
    select
        by_gold.audit_run_id,
        by_gold.model_id,
        by_gold.task_id,
        by_gold.strategy,
        try_consistency(
            {{ group_keys('by_gold') }},
            list(by_gold.gold_index),
            list(by_gold.sample_index),
            list(by_gold.label_index),
            list(by_gold.p_tau),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as consistency
    from by_gold
    inner join runs using (audit_run_id)
    group by all
),

wordings_by_gold as (
    select
        wordings.*,
        labels.label_index as gold_index
    from wordings
    semi join consistencies using (audit_run_id, model_id, task_id, strategy)
    inner join labels
        on
            wordings.audit_run_id = labels.audit_run_id
            and wordings.task_id = labels.task_id
            and wordings.gold_label = labels.label
),

consistencies_over_wordings as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        try_consistency_wordings(
            {{ group_keys() }},
            list(gold_index),
            list(sample_index),
            list(wording_index),
            list(family_index),
            list(label_index),
            list(p_wording)
        ) as consistency_wordings
    from wordings_by_gold
    group by all
),

final as (
    select
        consistencies.*,
        consistencies_over_wordings.consistency_wordings
    from consistencies
    left join consistencies_over_wordings using (audit_run_id, model_id, task_id, strategy)
)

select * from final
