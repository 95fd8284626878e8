with source as (
    select * from {{ source('raw', 'nights') }}
),

renamed as (
    select
        audit_run_id,
        night_id,
        audit_id,
        step,
        outcome,
        recorded_at
    from source
)

select * from renamed
