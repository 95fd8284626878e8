with source as (
    select * from {{ source('raw', 'acceptances').include(database=false) }}
),

renamed as (
    select
        audit_run_id,
        audit_id,
        model_id,
        task_id,
        strategy,
        is_false,
        reason,
        accepted_at,
        after_run_index
    from source
)

select * from renamed
