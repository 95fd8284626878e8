-- One row per run, model, task and strategy: how sensitivity and mean consistency spread over samples, and together.
with samples as {{ of_this_build('fct_sensitivity') }},

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        count(sensitivity) as n_samples,
        count(*) filter (sensitivity = 0) as n_steady,
        n_steady / nullif(n_samples, 0) as steady_rate,
        avg(sensitivity) as sensitivity_mean,
        min(sensitivity) as sensitivity_min,
        quantile_cont(sensitivity, 0.25) as sensitivity_p25,
        quantile_cont(sensitivity, 0.5) as sensitivity_p50,
        quantile_cont(sensitivity, 0.75) as sensitivity_p75,
        max(sensitivity) as sensitivity_max,
        count(mean_consistency) as n_compared,
        avg(mean_consistency) as mean_consistency_mean,
        min(mean_consistency) as mean_consistency_min,
        quantile_cont(mean_consistency, 0.25) as mean_consistency_p25,
        quantile_cont(mean_consistency, 0.5) as mean_consistency_p50,
        quantile_cont(mean_consistency, 0.75) as mean_consistency_p75,
        max(mean_consistency) as mean_consistency_max,
        count(sensitivity) filter (mean_consistency is not null) as n_correlated,
        -- of what differs by rounding alone there is none
        case
            when
                stddev_pop(sensitivity) filter (mean_consistency is not null) > 1e-6
                and stddev_pop(mean_consistency) filter (sensitivity is not null) > 1e-6
                then corr(sensitivity, mean_consistency)
        end as correlation,
        {{ measure_version() }}
    from samples
    group by all
)

select * from final
