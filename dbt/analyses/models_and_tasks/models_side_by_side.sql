-- The models of each audit's newest run beside each other, the steadiest first, with the agreement among all of them.
with agreements as (
    select
        audit_run_id,
        task_id,
        strategy,
        pss as pss_inter_model
    from {{ ref('fct_prompt_stability') }}
    where scope = 'inter_model' and series = 'all' and annotation_filter = 'valid'
)

select
    scorecards.audit_id,
    scorecards.task_id,
    scorecards.strategy,
    scorecards.model_id,
    rank() over (
        partition by scorecards.audit_run_id, scorecards.task_id, scorecards.strategy
        order by scorecards.sensitivity nulls last
    ) as place,
    scorecards.sensitivity,
    scorecards.sensitivity_low,
    scorecards.sensitivity_high,
    scorecards.consistency,
    scorecards.micro_f1,
    scorecards.pss_intra,
    scorecards.pss_inter,
    scorecards.invalid_rate,
    scorecards.cost_usd,
    agreements.pss_inter_model
from {{ ref('rpt_latest') }} as scorecards
left join agreements using (audit_run_id, task_id, strategy)
order by scorecards.audit_id, scorecards.task_id, scorecards.strategy, place, scorecards.model_id
