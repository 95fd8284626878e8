with source as (
    select * from {{ source('raw', 'waivers') }}
),

renamed as (
    select
        audit_run_id,
        waiver_id,
        audit_id,
        rule,
        model_id,
        task_id,
        strategy,
        measure,
        reason,
        valid_until,
        accepted_at
    from source
)

select * from renamed
