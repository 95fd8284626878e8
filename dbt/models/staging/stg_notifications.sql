with source as (
    select * from {{ source('raw', 'notifications') }}
),

renamed as (
    select
        audit_run_id,
        notification_id,
        kind,
        state,
        n_targets,
        error,
        recorded_at
    from source
)

select * from renamed
