-- One row per run, model, task, strategy and gold label that has samples: how alike its samples are treated.
with by_gold as {{ of_this_build('int_p_tau_by_gold') }},

runs as {{ of_this_build('stg_audit_runs') }},

wordings as {{ of_this_build('int_wordings_shared') }},

classes as (
    select
        by_gold.audit_run_id,
        by_gold.model_id,
        by_gold.task_id,
        by_gold.strategy,
        by_gold.gold_label,
        count(distinct by_gold.sample_index) as n_samples,
        try_consistency(
            {{ group_keys('by_gold') }},
            list(by_gold.gold_index),
            list(by_gold.sample_index),
            list(by_gold.label_index),
            list(by_gold.p_tau),
            any_value(runs.seed),
            any_value(runs.n_resamples)
        ) as measured
    from by_gold
    inner join runs using (audit_run_id)
    group by all
),

classes_over_wordings as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        try_consistency_wordings(
            {{ group_keys() }},
            -- one gold class a row
            list(0),
            list(sample_index),
            list(wording_index),
            list(family_index),
            list(label_index),
            list(p_wording)
        ) as bounds
    from wordings
    where gold_label is not null
    group by all
),

final as (
    select
        classes.audit_run_id,
        classes.model_id,
        classes.task_id,
        classes.strategy,
        classes.gold_label,
        classes.measured.consistency as consistency,
        classes.measured.low as consistency_low,
        classes.measured.high as consistency_high,
        classes_over_wordings.bounds.low as consistency_wordings_low,
        classes_over_wordings.bounds.high as consistency_wordings_high,
        classes.measured.consistency_std as consistency_std,
        classes.measured.consistency_distinct as consistency_distinct,
        classes.n_samples,
        {{ measure_version() }}
    from classes
    inner join classes_over_wordings using (audit_run_id, model_id, task_id, strategy, gold_label)
)

select * from final
