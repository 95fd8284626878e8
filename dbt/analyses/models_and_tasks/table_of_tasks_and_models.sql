-- The scorecard of each audit's newest run as papers print it: a row a measure, task, strategy and model, with the model's place
-- among those of its strategy; the best of a task is so over models and strategies. Audits of one task each make the same rows
-- as one audit of all. DuckDB lays the models side by side where the rows are saved as a table: `pivot saved on model_id using
-- any_value(value) group by measure, task_id, strategy`; `report --charts` does it too.
with newest as (
    select audit_run_id from {{ ref('dim_nights') }}
    where is_newest
)

select
    found.measure,
    found.direction as better,
    found.task_id,
    found.strategy,
    found.model_id,
    found.value,
    found.value_std,
    found.value_low,
    found.value_high,
    found.rank_in_row,
    found.n_ranked,
    case
        when found.is_reference then 'reference'
        when found.is_best then 'best'
    end as mark,
    found.is_readable,
    found.audit_id
from {{ ref('rpt_measures_across_tasks') }} as found
inner join newest using (audit_run_id)
where found.value is not null
order by
    list_position(['sensitivity', 'sensitivity_corrected', 'consistency', 'micro_f1', 'pss_intra', 'pss_inter'], found.measure),
    found.task_id, found.strategy, found.is_reference, found.model_id, found.audit_id
