with source as (
    select * from {{ source('raw', 'grid').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        prompt_variant_id,
        repetition,
        sample_ids
    from source
)

select * from renamed
