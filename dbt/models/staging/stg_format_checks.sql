with source as (
    select * from {{ source('raw', 'format_checks').include(database=false) }}
),

-- a run may be checked again under other limits: the newest check holds
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
    qualify checked_at = max(checked_at) over (partition by audit_run_id)
)

select * from renamed
