-- One row per model, task and strategy of each audit's newest complete run: the scorecard as it stands.
{{ config(materialized='view', contract={'enforced': false}) }}
with scorecards as {{ all_of('rpt_audit') }},

newest as (
    select audit_run_id from {{ ref('dim_nights').include(database=false) }}
    where is_newest
),

final as (
    select scorecards.*
    from scorecards
    inner join newest using (audit_run_id)
)

select * from final
