with source as (
    select * from {{ source('raw', 'format_checks') }}
),

renamed as (
    select
        audit_run_id,
        expectation,
        model_id,
        task_id,
        prompt_variant_id,
        observed,
        allowed,
        is_success,
        policy,
        action,
        reason,
        checked_at
    from source
)

select * from renamed
