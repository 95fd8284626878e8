-- One row per model, task and strategy of each audit's newest complete run: the scorecard as it stands.
{{ config(materialized='view') }}
with scorecards as (
    select * from {{ ref('rpt_audit') }}
),

-- a trial is of chosen samples
runs as (
    select * from {{ ref('dim_audit_runs') }}
    where state = 'complete' and origin != 'trial'
),

newest as (
    select audit_run_id
    from runs
    qualify row_number() over (partition by audit_id order by started_at desc, audit_run_id desc) = 1
),

final as (
    select scorecards.*
    from scorecards
    inner join newest using (audit_run_id)
)

select * from final
