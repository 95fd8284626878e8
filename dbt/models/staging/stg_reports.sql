with source as (
    select * from {{ source('raw', 'reports') }}
),

renamed as (
    select
        audit_run_id,
        sha256,
        name,
        written_at
    from source
)

select * from renamed
