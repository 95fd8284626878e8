-- What each strategy changes against `simple`, in each audit's newest run: one row per model, task and other strategy.
with scorecards as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        sensitivity,
        consistency,
        micro_f1,
        pss_inter,
        invalid_rate
    from {{ ref('rpt_latest') }}
)

select
    dressed.audit_id,
    dressed.model_id,
    dressed.task_id,
    dressed.strategy,
    plain.sensitivity as sensitivity_simple,
    dressed.sensitivity - plain.sensitivity as sensitivity_difference,
    dressed.consistency - plain.consistency as consistency_difference,
    plain.micro_f1 as micro_f1_simple,
    dressed.micro_f1 - plain.micro_f1 as micro_f1_difference,
    dressed.pss_inter - plain.pss_inter as pss_inter_difference,
    dressed.invalid_rate - plain.invalid_rate as invalid_rate_difference
from scorecards as dressed
inner join scorecards as plain using (audit_run_id, model_id, task_id)
where plain.strategy = 'simple' and dressed.strategy <> 'simple'
order by dressed.audit_id, dressed.task_id, dressed.model_id, dressed.strategy
