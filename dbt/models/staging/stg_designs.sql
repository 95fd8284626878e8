with source as (
    select * from {{ source('raw', 'designs') }}
),

renamed as (
    select
        audit_run_id,
        twice,
        wordings_per_sample,
        seed
    from source
)

select * from renamed
