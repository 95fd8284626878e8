with source as (
    select * from {{ source('raw', 'designs') }}
),

renamed as (
    select
        audit_run_id,
        twice,
        seed
    from source
)

select * from renamed
