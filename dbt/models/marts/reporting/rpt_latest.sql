-- One row per model, task and strategy of each audit's newest complete run: the scorecard as it stands.
{{ config(materialized='view') }}

with newest as (
    select audit_run_id
    from {{ ref('dim_audit_runs') }}
    where state = 'complete' and origin != 'trial' -- which is of chosen samples
    qualify row_number() over (partition by audit_id order by started_at desc, audit_run_id desc) = 1
)

select scorecard.*
from {{ ref('rpt_audit') }} as scorecard
inner join newest using (audit_run_id)
