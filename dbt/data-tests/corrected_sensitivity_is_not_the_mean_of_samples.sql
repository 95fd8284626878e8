-- Would catch two paths to one figure that part: the scorecard's comes from the whole group with its interval, a
-- sample's from the sample alone.
{{ config(severity='warn', meta={'relation': 'marts.rpt_audit', 'figure': 'sensitivity_corrected'}) }}
with averaged as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        avg(sensitivity_corrected) as corrected_averaged
    from {{ ref('fct_sensitivity') }}
    where {{ in_this_build() }}
    group by all
),

scorecards as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sensitivity_corrected
    from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
)

select
    scorecards.*,
    averaged.corrected_averaged
from scorecards
left join averaged using (audit_run_id, model_id, task_id, strategy)
where
    (scorecards.sensitivity_corrected is null) is distinct from (averaged.corrected_averaged is null)
    or abs(scorecards.sensitivity_corrected - averaged.corrected_averaged) > 1e-9
