-- One row per audit and name of a baseline: the run that was last pinned under it.
{{ config(materialized='view') }}
with baselines as (
    select * from {{ ref('stg_baselines').include(database=false) }}
),

final as (
    select
        audit_id,
        name,
        audit_run_id,
        reason,
        pinned_at
    from baselines
    qualify row_number() over (partition by audit_id, name order by after_run_index desc, pinned_at desc, audit_run_id desc) = 1
)

select * from final
