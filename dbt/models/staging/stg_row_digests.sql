with source as (
    select * from {{ source('raw', 'row_digests') }}
),

renamed as (
    select
        audit_run_id,
        seal_index,
        table_name,
        digests
    from source
)

select * from renamed
