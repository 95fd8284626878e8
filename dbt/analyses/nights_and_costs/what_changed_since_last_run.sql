-- Each audit's newest complete run against the complete run before it: the scorecard's measures side by side.
-- A first look; `rpt_run_comparisons` says which differences are more than noise.
with newest as (
    select
        audit_run_id,
        previous_run_id
    from {{ ref('dim_nights') }}
    where is_newest
),

measures as (
    unpivot (
        select
            audit_id,
            audit_run_id,
            model_id,
            task_id,
            strategy,
            sensitivity,
            wording_share,
            consistency,
            micro_f1,
            pss_intra,
            pss_inter,
            invalid_rate,
            cost_usd
        from {{ ref('rpt_audit') }}
    )
    on sensitivity, wording_share, consistency, micro_f1, pss_intra, pss_inter, invalid_rate, cost_usd
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
from newest
inner join measures as newer using (audit_run_id)
inner join measures as older
    on
        newest.previous_run_id = older.audit_run_id
        and newer.model_id = older.model_id
        and newer.task_id = older.task_id
        and newer.strategy = older.strategy
        and newer.measure = older.measure
order by
    abs(difference) desc,
    newer.audit_id asc,
    newer.model_id asc,
    newer.task_id asc,
    newer.strategy asc,
    newer.measure asc
