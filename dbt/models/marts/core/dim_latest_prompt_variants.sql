-- One row per prompt variant: as it landed in the newest complete run that has it.
{{ config(materialized='view', contract={'enforced': false}) }}
with landed as (
    select * from {{ ref('dim_prompt_variants') }}
),

runs as (
    select
        audit_run_id,
        started_at
    from {{ ref('dim_nights') }}
),

final as (
    select landed.*
    from landed
    inner join runs using (audit_run_id)
    qualify row_number() over (partition by landed.prompt_variant_id order by runs.started_at desc, audit_run_id desc) = 1
)

select * from final
