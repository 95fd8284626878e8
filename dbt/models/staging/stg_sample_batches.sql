with source as (
    select * from {{ source('raw', 'sample_batches') }}
),

renamed as (
    select
        audit_run_id,
        task_id,
        batch,
        sample_ids
    from source
)

select * from renamed
