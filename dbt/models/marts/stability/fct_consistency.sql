-- One row per run, model, task, strategy and gold label that has samples: how alike its samples are treated.
with by_gold as (
    select * from {{ ref('int_p_tau_by_gold') }}
    where {{ in_this_build() }}
),

runs as (
    select * from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

classes as (
    select
        by_gold.audit_run_id,
        by_gold.model_id,
        by_gold.task_id,
        by_gold.strategy,
        by_gold.gold_label,
        count(distinct by_gold.sample_index) as n_samples,
        consistency(
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

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        measured.consistency as consistency,
        measured.low as consistency_low,
        measured.high as consistency_high,
        measured.consistency_std as consistency_std,
        measured.consistency_distinct as consistency_distinct,
        n_samples,
        {{ measure_version() }}
    from classes
)

select * from final
