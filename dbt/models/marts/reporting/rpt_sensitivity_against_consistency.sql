-- One row per run: how sensitivity and consistency go together over its tasks, models and strategies, reference models aside.
-- A cell counts where its sensitivity is high enough for its consistency to be read.
with measured as {{ of_this_build('rpt_measures_across_tasks') }},

cells as (
    select
        audit_run_id,
        audit_id,
        task_id,
        strategy,
        model_id,
        any_value(value) filter (measure = 'consistency' and is_readable and not is_reference) as consistency,
        -- without a consistency there is no cell
        if(consistency is null, null, any_value(value) filter (measure = 'sensitivity')) as sensitivity
    from measured
    group by all
),

counted as (
    select
        audit_run_id,
        audit_id,
        count(sensitivity)::integer as n_cells,
        least(
            max(sensitivity) - min(sensitivity), max(consistency) - min(consistency)
        ) as narrower_range,
        corr(sensitivity, consistency) as pearson
    from cells
    group by all
),

final as (
    select
        audit_run_id,
        audit_id,
        -- figures that differ by rounding alone are constant
        if(n_cells >= 3 and narrower_range > 1e-9, pearson, null) as pearson,
        n_cells,
        {{ least_readable_sensitivity() }}::double as min_sensitivity,
        {{ measure_version() }}
    from counted
)

select * from final
