with source as (
    select * from {{ source('raw', 'baselines').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        audit_id,
        name,
        reason,
        pinned_at,
        after_run_index
    from source
)

select * from renamed
