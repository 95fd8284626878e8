with source as (
    select * from {{ source('raw', 'engines').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        model_id,
        opened_at,
        engine,
        endpoint,
        engine_version,
        served_model,
        context_length,
        weights_sha256,
        chat_template
    from source
)

select * from renamed
