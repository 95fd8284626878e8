-- Each audit's newest complete run against the complete run before it: the scorecard's measures side by side.
-- A first look; `rpt_run_comparisons` says which differences are more than noise.
with numbered as (
    select
        audit_run_id,
        row_number() over (
            partition by audit_id
            order by started_at desc, audit_run_id desc
        ) as age
    from {{ ref('dim_audit_runs') }}
    where state = 'complete'
),

measures as (
    unpivot (
        select
            scorecards.audit_id,
            scorecards.audit_run_id,
            scorecards.model_id,
            scorecards.task_id,
            scorecards.strategy,
            numbered.age,
            scorecards.sensitivity_corrected,
            scorecards.wording_share,
            scorecards.consistency,
            scorecards.micro_f1,
            scorecards.pss_intra,
            scorecards.pss_inter,
            scorecards.invalid_rate,
            scorecards.cost_usd
        from {{ ref('rpt_audit') }} as scorecards
        inner join numbered using (audit_run_id)
        where numbered.age <= 2
    )
    on sensitivity_corrected, wording_share, consistency, micro_f1, pss_intra, pss_inter, invalid_rate, cost_usd
    into name measure value figure
)

select
    newer.audit_id,
    newer.model_id,
    newer.task_id,
    newer.strategy,
    newer.measure,
    older.figure as base,
    newer.figure as candidate,
    newer.figure - older.figure as difference,
    older.audit_run_id as base_run_id,
    newer.audit_run_id as candidate_run_id
from measures as newer
inner join measures as older using (audit_id, model_id, task_id, strategy, measure)
where newer.age = 1 and older.age = 2
order by
    abs(difference) desc,
    newer.audit_id asc,
    newer.model_id asc,
    newer.task_id asc,
    newer.strategy asc,
    newer.measure asc
