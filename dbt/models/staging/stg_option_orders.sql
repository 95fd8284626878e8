with source as (
    select * from {{ source('raw', 'option_orders').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        prompt_variant_id,
        sample_id,
        option_order
    from source
)

select * from renamed
