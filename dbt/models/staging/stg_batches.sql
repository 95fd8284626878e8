with source as (
    select * from {{ source('raw', 'batches') }}
),

renamed as (
    select
        audit_run_id,
        model_id,
        batch_id,
        state,
        recorded_at,
        n_requests,
        error
    from source
)

select * from renamed
