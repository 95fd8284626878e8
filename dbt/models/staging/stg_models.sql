with source as (
    select * from {{ source('raw', 'models') }}
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
        output_usd_per_mtok
    from source
)

select * from renamed
