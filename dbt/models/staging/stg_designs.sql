with source as (
    select * from {{ source('raw', 'designs').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        twice,
        seed
    from source
)

select * from renamed
