with source as (
    select * from {{ source('raw', 'erasures') }}
),

renamed as (
    select
        audit_run_id,
        erasure_id,
        task_id,
        sample_id,
        n_rows,
        reason,
        erased_at
    from source
)

select * from renamed
