with source as (
    select * from {{ source('raw', 'models').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        model_id,
        engine,
        model,
        card,
        fingerprint,
        input_usd_per_mtok,
        output_usd_per_mtok,
        engine = 'embedded' and model in ('random', 'noisy') as is_reference
    from source
)

select * from renamed
