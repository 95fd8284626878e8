-- Whether what is more sensitive is less consistent: Pearson's correlation over tasks, models and strategies, in each audit's
-- newest run and, where audit_id is NULL, over all of these runs. Cells of low sensitivity and reference models are left out.
with newest as (
    select audit_run_id from {{ ref('dim_nights') }}
    where is_newest
),

cells as (
    select
        consistencies.audit_id,
        sensitivities.value as sensitivity,
        consistencies.value as consistency
    from {{ ref('rpt_measures_across_tasks') }} as consistencies
    inner join newest using (audit_run_id)
    inner join {{ ref('rpt_measures_across_tasks') }} as sensitivities
        on
            consistencies.audit_run_id = sensitivities.audit_run_id
            and consistencies.task_id = sensitivities.task_id
            and consistencies.strategy = sensitivities.strategy
            and consistencies.model_id = sensitivities.model_id
            and sensitivities.measure = 'sensitivity'
    where
        consistencies.measure = 'consistency' and consistencies.is_readable and not consistencies.is_reference
        and consistencies.value is not null
)

select
    audit_id,
    count(*) as n_cells,
    if(
        count(*) >= 3 and least(max(sensitivity) - min(sensitivity), max(consistency) - min(consistency)) > 1e-9,
        corr(sensitivity, consistency),
        null
    ) as pearson
from cells
group by grouping sets ((audit_id), ())
order by audit_id nulls last
