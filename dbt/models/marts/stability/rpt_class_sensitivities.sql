-- One row per run, model, task, strategy and gold label that has samples: how their sensitivity spreads.
with samples as {{ of_this_build('fct_sensitivity', where='sensitivity is not null and gold_label is not null') }},

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        gold_label,
        count(*) as n_samples,
        avg(sensitivity) as sensitivity_mean,
        quantile_cont(sensitivity, 0.05) as sensitivity_p05,
        quantile_cont(sensitivity, 0.25) as sensitivity_p25,
        quantile_cont(sensitivity, 0.5) as sensitivity_p50,
        quantile_cont(sensitivity, 0.75) as sensitivity_p75,
        quantile_cont(sensitivity, 0.95) as sensitivity_p95,
        {{ measure_version() }}
    from samples
    group by all
)

select * from final
