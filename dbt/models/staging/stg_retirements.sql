with source as (
    select * from {{ source('raw', 'retirements') }}
),

renamed as (
    select
        audit_run_id,
        table_name,
        path,
        n_rows,
        sha256,
        retired_at
    from source
)

select * from renamed
