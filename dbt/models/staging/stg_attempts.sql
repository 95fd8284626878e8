with source as (
    select * from {{ source('raw', 'attempts') }}
),

renamed as (
    select
        audit_run_id,
        prediction_id,
        attempted_at,
        http_status,
        error,
        waited_ms
    from source
)

select * from renamed
